/** Household items are in the wrong places: put each where it belongs. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import { drawIn, folds } from '../folds.js';
import type { House } from '../house/house.js';
import { HouseGame } from '../house/house-game.js';
import { describeLayout, drawLayout, type Layout } from '../house/layout.js';
import type { HousePlan } from '../house/plan.js';
import { homes } from '../house/vocabulary.js';
import { Walker } from '../house/walker.js';
import type { TextGame } from '../text-game.js';

export const putAwayOptions = z.strictObject({
  rooms: z.int().min(2).max(16).default(4).describe('Rooms of the house'),
  things: z
    .int()
    .min(1)
    .max(8)
    .default(3)
    .describe('Most things to put away; fewer where the rooms hold fewer'),
  doors: z.boolean().default(false).describe('Whether there are doors to open'),
  capacity: z.int().min(0).default(0).describe('Most things carried at once; 0: any number'),
  fold: z.enum(folds).default('train').describe('No layout is in two of them'),
});

type PutAwayOptions = z.output<typeof putAwayOptions>;

/** A thing, with the index of the place where it belongs. */
interface Misplaced {
  readonly name: string;
  readonly home: number;
}

export function putAwayGame(options: PutAwayOptions, random: RandomGenerator): TextGame {
  const layout = drawIn(options.fold, () => drawWithHomes(options, random), describeLayout);
  const misplaced = shuffled(thingsAtHomeIn(layout), random).slice(0, options.things);
  const plan: HousePlan = {
    ...layout,
    things: misplaced.map(({ name, home }) => ({ name, at: elsewhere(layout, home, random) })),
    start: random.integers(0, options.rooms),
    capacity: options.capacity === 0 ? Infinity : options.capacity,
  };
  const walker = new Walker(plan);
  for (const [thing, { home }] of misplaced.entries()) {
    walker.fetch(thing);
    walker.putAway(thing, home);
  }
  const task = {
    plan,
    objective: `Tidy up: put ${misplaced.length === 1 ? 'the thing that is' : `the ${misplaced.length} things that are`} not where ${misplaced.length === 1 ? 'it belongs' : 'they belong'} into the right place.`,
    goals: misplaced.map(
      ({ home }, thing) =>
        (house: House) =>
          house.isIn(thing, home),
    ),
    mistakes: [],
  };
  return new HouseGame(task, walker.commands);
}

/** Draws a layout in which at least one item has its home. */
function drawWithHomes(options: PutAwayOptions, random: RandomGenerator): Layout {
  for (;;) {
    const layout = drawLayout(options, random);
    if (thingsAtHomeIn(layout).length > 0) return layout;
  }
}

function thingsAtHomeIn({ rooms, places }: Layout): Misplaced[] {
  return Object.entries(homes).flatMap(([name, home]) => {
    const index = places.findIndex(
      (place) => place.name === home.place && rooms[place.room]!.name === home.room,
    );
    return index < 0 ? [] : [{ name, home: index }];
  });
}

function elsewhere({ rooms, places }: Layout, home: number, random: RandomGenerator) {
  const place = random.integers(0, places.length);
  if (place !== home) return { kind: 'place', place } as const;
  return { kind: 'floor', room: random.integers(0, rooms.length) } as const;
}
