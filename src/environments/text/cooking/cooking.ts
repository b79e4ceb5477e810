/** `text:cooking`: the player finds a recipe, gathers and prepares its ingredients, makes the meal and eats it. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../base/random/generator.js';
import { drawIn, folds, type TextGame } from '../text-game.js';
import { type House, Walker } from './house.js';
import { HouseGame, type HouseTask } from './house-game.js';
import { describeLayout, drawLayout, foods, type Layout } from './layout.js';
import {
  type Cut,
  cuts,
  type Heat,
  type HousePlan,
  heats,
  type Location,
  type ThingPlan,
  verbOf,
} from './plan.js';

export const cookingOptions = z
  .strictObject({
    rooms: z.int().min(1).max(12).default(6).describe('Number of rooms'),
    ingredients: z.int().min(1).max(5).default(3).describe('Number of ingredients in the recipe'),
    distractors: z.int().min(0).max(10).default(5).describe('Number of foods that are not in the recipe'),
    doors: z.boolean().default(true).describe('Put doors between some of the rooms'),
    capacity: z.int().min(0).default(0).describe('Maximum number of things carried at once; 0 for no limit'),
    fold: z
      .enum(folds)
      .default('train')
      .describe('Set of games to draw from; no two sets share a recipe, or a house with its food'),
  })
  .refine(({ capacity, ingredients }) => capacity === 0 || capacity > ingredients, {
    path: ['capacity'],
    message: 'must exceed the number of ingredients, because the player also carries the knife',
  });

type CookingOptions = z.output<typeof cookingOptions>;

interface Ingredient {
  readonly food: string;
  readonly cut: Cut | 'uncut';
  readonly heat: Heat | 'raw';
}

/** Indices of the things that every game has; thing 0 is the cookbook, and the foods come last. */
const knife = 1;
const meal = 2;
const firstFood = 3;

export function cookingGame(options: CookingOptions, random: RandomGenerator): TextGame {
  const recipe = drawIn(options.fold, () => drawRecipe(options, random), describeRecipe);
  const house = drawIn(
    options.fold,
    () => drawHouse(options, recipe, random),
    ({ layout, things }) => describeLayout(layout) + JSON.stringify(things.slice(firstFood)),
  );
  const plan: HousePlan = {
    ...house.layout,
    things: house.things,
    start: random.integers(0, options.rooms),
    capacity: options.capacity === 0 ? Infinity : options.capacity,
  };
  return new HouseGame(cookingTask(plan, recipe), goldOf(plan, recipe));
}

function drawRecipe({ ingredients }: CookingOptions, random: RandomGenerator): readonly Ingredient[] {
  return shuffled(foods, random)
    .slice(0, ingredients)
    .map((food) => ({
      food,
      cut: (['uncut', ...cuts] as const)[random.integers(0, 4)]!,
      heat: (['raw', ...heats] as const)[random.integers(0, 4)]!,
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
  const kitchen = layout.rooms.findIndex(({ name }) => name === 'kitchen');
  const counter = layout.places.findIndex(({ name }) => name === 'counter');
  const used = new Set(recipe.map(({ food }) => food));
  const others = shuffled(foods, random).filter((food) => !used.has(food));
  const placed = [...used, ...others.slice(0, options.distractors)].map(
    (food): ThingPlan => ({
      name: food,
      food: true,
      at: drawPlace(layout, random),
    }),
  );
  const anywhere = layout.places.flatMap(({ room }, place) => (room === kitchen ? [place] : []));
  const things: ThingPlan[] = [
    { name: 'cookbook', at: { kind: 'place', place: counter }, text: recipeText(recipe) },
    {
      name: 'knife',
      at: { kind: 'place', place: anywhere[random.integers(0, anywhere.length)]! },
      sharp: true,
    },
    { name: 'meal', at: { kind: 'gone' }, dish: true },
    ...placed,
  ];
  return { layout, things };
}

/** Draws a location: in or on any furniture, rarely on the floor. */
function drawPlace({ places, rooms }: Layout, random: RandomGenerator): Location {
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

function cookingTask(plan: HousePlan, recipe: readonly Ingredient[]): HouseTask {
  const kitchen = plan.rooms.findIndex(({ name }) => name === 'kitchen');
  const indices = recipe.map((_, i) => firstFood + i);
  const ready = (house: House, i: number) =>
    house.isCarried(indices[i]!) &&
    house.cuts[indices[i]!] === recipe[i]!.cut &&
    house.cooked[indices[i]!] === recipe[i]!.heat;
  return {
    plan,
    objective:
      'You are hungry. Find the cookbook in the kitchen, cook the meal exactly as its recipe says, and eat it.',
    goals: [
      ...indices.map((thing) => (house: House) => house.isCarried(thing)),
      ...recipe.flatMap(({ cut, heat }, i) => [
        ...(cut === 'uncut' ? [] : [(house: House) => house.cuts[indices[i]!] === cut]),
        ...(heat === 'raw' ? [] : [(house: House) => house.cooked[indices[i]!] === heat]),
      ]),
      (house) => house.isCarried(meal),
      (house) => isMade(house, indices) && house.things[meal]!.kind === 'gone',
    ],
    mistakes: recipe.flatMap(({ food, cut, heat }, i) => [
      {
        holds: (house: House) => !['uncut', cut].includes(house.cuts[indices[i]!]!),
        text: `The recipe wants the ${food} cut otherwise.`,
      },
      {
        holds: (house: House) => !['raw', heat].includes(house.cooked[indices[i]!]!),
        text: `The recipe wants the ${food} cooked otherwise.`,
      },
      {
        holds: (house: House) => house.things[indices[i]!]!.kind === 'gone',
        text: `The ${food} is missing in the meal.`,
      },
    ]),
    refuses(house, action) {
      if (action.kind !== 'prepare') return undefined;
      if (house.room !== kitchen) return 'A meal is made in the kitchen.';
      return recipe.every((_, i) => ready(house, i)) ? undefined : 'Not everything is at hand and ready yet.';
    },
    after(house, action) {
      if (action.kind === 'prepare') for (const thing of indices) house.useUp(thing);
    },
  };
}

/** True once the meal is made, which uses up all ingredients. */
const isMade = (house: House, indices: readonly number[]) =>
  indices.every((thing) => house.things[thing]!.kind === 'used');

function goldOf(plan: HousePlan, recipe: readonly Ingredient[]): readonly string[] {
  const walker = new Walker(plan);
  const kitchen = plan.rooms.findIndex(({ name }) => name === 'kitchen');
  walker.goTo(kitchen);
  walker.say('read cookbook');
  for (const i of recipe.keys()) walker.fetch(firstFood + i);
  if (recipe.some(({ cut }) => cut !== 'uncut')) walker.fetch(knife);
  walker.goTo(kitchen);
  for (const { food, cut, heat } of recipe) {
    if (cut !== 'uncut') walker.say(`${verbOf[cut]} ${food} with knife`);
    if (heat !== 'raw') walker.say(`cook ${food} with ${appliances[heat]}`);
  }
  walker.say('prepare meal');
  walker.say('eat meal');
  return walker.commands;
}

const appliances: Readonly<Record<Heat, string>> = { fried: 'stove', roasted: 'oven', grilled: 'grill' };
