/** Cooking games: requirements for preparing a meal that the compiled game checks in addition to the file's rules. */
import { holds, preparation, type Scene } from './wording.js';

/** @returns why the meal can't be prepared yet; undefined if nothing is missing */
export function missingForMeal(scene: Scene): string | undefined {
  const { vocabulary, facts } = scene;
  const recipe = vocabulary.number('RECIPE');
  const player = vocabulary.number('I');
  if (recipe === undefined || player === undefined) return undefined;
  const ingredients = [...facts.with('in/2', 1, recipe)].map(({ objects }) => objects[0]!);
  for (const ingredient of ingredients.toSorted((a, b) => a - b)) {
    const food = [...facts.with('base/2', 1, ingredient)][0]?.objects[0];
    if (food === undefined || !holds(scene, 'in', food, player)) return 'You still miss something.';
    const [wanted, is] = [preparation(scene, ingredient), preparation(scene, food)];
    if (wanted.cooking !== is.cooking) return 'Something still needs to be cooked.';
    if (wanted.cut !== is.cut) return 'Something still needs to be cut.';
  }
  return undefined;
}
