/** `text:cooking`: the player finds a recipe, gathers and prepares its ingredients, makes the meal and eats it. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../base/random/generator.js';
import { drawInFold, folds, type TextGame, type TextTurn } from '../text-game.js';
import {
  type Cut,
  cookingMethods,
  cutCommand,
  cuts,
  firstFoodIndex,
  House,
  type HousePlan,
  isCarried,
  knifeIndex,
  type Method,
  mealIndex,
  type ThingLocation,
  type ThingPlan,
  Walker,
} from './house.js';
import { describeLayout, drawLayout, foods, type Layout } from './layout.js';

export const cookingOptions = z.strictObject({
  rooms: z.int().min(1).max(12).default(6).describe('Number of rooms'),
  ingredients: z.int().min(1).max(5).default(3).describe('Number of ingredients in the recipe'),
  distractors: z.int().min(0).max(10).default(5).describe('Number of foods that are not in the recipe'),
  doors: z.boolean().default(true).describe('True to put doors between some of the rooms'),
  fold: z.enum(folds).default('train').describe('Set of games to draw from; no two sets share a recipe'),
});

type CookingOptions = z.output<typeof cookingOptions>;

interface Ingredient {
  readonly food: string;
  readonly cut: Cut | 'uncut';
  readonly heat: Method | 'raw';
}

export function cookingGame(options: CookingOptions, random: RandomGenerator): TextGame {
  const recipe = drawInFold(options.fold, () => drawRecipe(options, random), describeRecipe);
  const house = drawInFold(
    options.fold,
    () => drawHouse(options, recipe, random),
    // Renaming a field of these things would change which games are drawn.
    ({ layout, things }) => describeLayout(layout) + JSON.stringify(things.slice(firstFoodIndex)),
  );
  const plan: HousePlan = {
    ...house.layout,
    things: house.things,
    recipe: recipeText(recipe),
    start: random.integers(0, options.rooms),
  };
  return new CookingGame(plan, recipe);
}

function drawRecipe({ ingredients }: CookingOptions, random: RandomGenerator): readonly Ingredient[] {
  return shuffled(foods, random)
    .slice(0, ingredients)
    .map((food) => ({
      food,
      cut: (['uncut', ...cuts] as const)[random.integers(0, 4)]!,
      heat: (['raw', ...cookingMethods] as const)[random.integers(0, 4)]!,
    }));
}

/** Describes a recipe; the order of its ingredients doesn't matter. */
const describeRecipe = (recipe: readonly Ingredient[]): string =>
  recipe
    .map(({ food, cut, heat }) => `${food} ${cut} ${heat}`)
    .toSorted()
    .join(', ');

function drawHouse(options: CookingOptions, recipe: readonly Ingredient[], random: RandomGenerator) {
  const layout = drawLayout(options, random);
  const kitchen = kitchenIndex(layout);
  const counterIndex = layout.places.findIndex(({ name }) => name === 'counter');
  const recipeFoods = new Set(recipe.map(({ food }) => food));
  const otherFoods = shuffled(foods, random).filter((food) => !recipeFoods.has(food));
  const foodPlans = [...recipeFoods, ...otherFoods.slice(0, options.distractors)].map(
    (food): ThingPlan => ({
      name: food,
      food: true,
      at: drawLocation(layout, random),
    }),
  );
  const kitchenPlaces = layout.places.flatMap(({ room }, place) => (room === kitchen ? [place] : []));
  const things: ThingPlan[] = [
    { name: 'cookbook', at: { kind: 'place', place: counterIndex } },
    { name: 'knife', at: { kind: 'place', place: kitchenPlaces[random.integers(0, kitchenPlaces.length)]! } },
    { name: 'meal', at: { kind: 'gone' } },
    ...foodPlans,
  ];
  return { layout, things };
}

/** Draws a location: in or on any furniture or, rarely, on the floor. */
function drawLocation({ places, rooms }: Layout, random: RandomGenerator): ThingLocation {
  if (random.random() < 0.1) return { kind: 'floor', room: random.integers(0, rooms.length) };
  return { kind: 'place', place: random.integers(0, places.length) };
}

const recipeText = (recipe: readonly Ingredient[]): string => {
  const steps = recipe.flatMap(({ food, cut, heat }) => [
    ...(cut === 'uncut' ? [] : [`the ${food} is ${cut}`]),
    ...(heat === 'raw' ? [] : [`the ${food} is ${heat}`]),
  ]);
  const ingredients = recipe.map(({ food }) => food).join(', ');
  return `Ingredients: ${ingredients}. Directions: ${[...steps, 'prepare meal'].join('; ')}. (Fry on the stove, roast in the oven, grill on the grill.)`;
};

const objective =
  'You are hungry. Find the cookbook in the kitchen, cook the meal exactly as its recipe says, and eat it.';

class CookingGame implements TextGame {
  readonly maxScore = 1;
  readonly objective = objective;
  readonly gold: readonly string[];
  readonly #plan: HousePlan;
  readonly #recipe: readonly Ingredient[];
  readonly #kitchen: number;
  #house!: House;
  #goals: readonly (() => boolean)[] = [];
  readonly #reachedGoals = new Set<() => boolean>();
  #mistake: string | undefined;
  #moves = 0;
  #admissible: readonly string[] | undefined;

  constructor(plan: HousePlan, recipe: readonly Ingredient[]) {
    this.#plan = plan;
    this.#recipe = recipe;
    this.#kitchen = kitchenIndex(plan);
    this.gold = winningCommands(plan, recipe);
  }

  get admissible(): readonly string[] {
    this.#admissible ??= this.#house
      .possibleCommands()
      .map(({ text }) => text)
      .filter((text) => this.#refusal(text) === undefined);
    return this.#admissible;
  }
  get score(): number {
    return this.#reachedGoals.size / this.#goals.length;
  }
  get won(): boolean {
    return !this.lost && this.#reachedGoals.size === this.#goals.length;
  }
  get lost(): boolean {
    return this.#mistake !== undefined;
  }
  get moves(): number {
    return this.#moves;
  }

  start(): string {
    this.#house = new House(this.#plan);
    this.#goals = this.#newGoals();
    this.#reachedGoals.clear();
    this.#mistake = undefined;
    this.#moves = 0;
    this.#admissible = undefined;
    return `${objective}\n${this.#house.roomText()}`;
  }

  step(text: string): TextTurn {
    const command = this.#house.findCommand(text);
    if (command === undefined) return { text: "You can't do that now.", understood: false };
    const refusal = this.#refusal(text);
    if (refusal !== undefined) return { text: refusal, understood: false };
    this.#moves++;
    const texts = [command.run()];
    if (text === prepareCommand) for (const { thing } of this.#ingredients()) thing.at = { kind: 'used' };
    this.#admissible = undefined;
    const previousScore = this.score;
    for (const goal of this.#goals) if (goal()) this.#reachedGoals.add(goal);
    this.#mistake = this.#findMistake();
    if (this.score > previousScore) texts.push('Your score went up.');
    if (this.#mistake !== undefined) texts.push(`${this.#mistake} You have lost.`);
    else if (this.won) texts.push('You have won.');
    return { text: texts.join(' '), understood: true };
  }

  #ingredients() {
    return this.#recipe.map((wanted, i) => ({ wanted, thing: this.#house.things[firstFoodIndex + i]! }));
  }

  /** Explains why a possible command is refused; undefined if it isn't. */
  #refusal(text: string): string | undefined {
    if (text !== prepareCommand) return undefined;
    if (this.#house.room !== this.#kitchen) return 'A meal is made in the kitchen.';
    const isReady = this.#ingredients().every(
      ({ thing, wanted }) => isCarried(thing) && thing.cut === wanted.cut && thing.cooked === wanted.heat,
    );
    return isReady ? undefined : 'Not everything is at hand and ready yet.';
  }

  /** Lists the goals; each earns the same share of the score when it is first reached. */
  #newGoals(): readonly (() => boolean)[] {
    const meal = this.#house.things[mealIndex]!;
    const ingredients = this.#ingredients();
    return [
      ...ingredients.flatMap(({ thing, wanted: { cut, heat } }) => [
        () => isCarried(thing),
        ...(cut === 'uncut' ? [] : [() => thing.cut === cut]),
        ...(heat === 'raw' ? [] : [() => thing.cooked === heat]),
      ]),
      () => isCarried(meal),
      // Making the meal uses up all ingredients.
      () => meal.at.kind === 'gone' && ingredients.every(({ thing }) => thing.at.kind === 'used'),
    ];
  }

  /** Describes a mistake, which loses the game; undefined if there is none. */
  #findMistake(): string | undefined {
    for (const { thing, wanted } of this.#ingredients()) {
      const { name, cut, cooked, at } = thing;
      if (cut !== 'uncut' && cut !== wanted.cut) return `The ${name} must be cut differently.`;
      if (cooked !== 'raw' && cooked !== wanted.heat) return `The ${name} must be cooked differently.`;
      if (at.kind === 'gone') return `The ${name} is missing from the meal.`;
    }
    return undefined;
  }
}

const prepareCommand = 'prepare meal';

const kitchenIndex = ({ rooms }: Layout) => rooms.findIndex(({ name }) => name === 'kitchen');

function winningCommands(plan: HousePlan, recipe: readonly Ingredient[]): readonly string[] {
  const walker = new Walker(plan);
  const kitchen = kitchenIndex(plan);
  walker.goTo(kitchen);
  walker.execute('read cookbook');
  for (const i of recipe.keys()) walker.fetch(firstFoodIndex + i);
  if (recipe.some(({ cut }) => cut !== 'uncut')) walker.fetch(knifeIndex);
  walker.goTo(kitchen);
  for (const { food, cut, heat } of recipe) {
    if (cut !== 'uncut') walker.execute(cutCommand(cut, food));
    if (heat !== 'raw') walker.execute(`cook ${food} with ${appliances[heat]}`);
  }
  walker.execute(prepareCommand);
  walker.execute('eat meal');
  return walker.commands;
}

const appliances: Readonly<Record<Method, string>> = { fried: 'stove', roasted: 'oven', grilled: 'grill' };
