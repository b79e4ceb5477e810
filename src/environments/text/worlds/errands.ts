/** Worlds in a house: finding a coin, following a map, putting things away, hunting for a treasure. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import type { House } from '../house/house.js';
import { Walker } from '../house/house.js';
import { HouseGame, type HouseTask } from '../house/house-game.js';
import { clutter, describeLayout, drawLayout, homes, type Layout } from '../house/layout.js';
import { directions, type HousePlan, type Location, type ThingPlan } from '../house/plan.js';
import { drawIn, folds, type TextGame } from '../text-game.js';

const rooms = (low: number, high: number, usual: number) =>
  z.int().min(low).max(high).default(usual).describe('Number of rooms');
const doors = (usual: boolean) => z.boolean().default(usual).describe('Put doors between some of the rooms');
const fold = z.enum(folds).default('train').describe('Set of games to draw from; no two sets share a layout');

/** Creates a game; the commands that `walk` executes win it. */
function errand(
  task: Omit<HouseTask, 'mistakes'> & Partial<HouseTask>,
  walk: (walker: Walker) => void,
): TextGame {
  const walker = new Walker(task.plan);
  walk(walker);
  return new HouseGame({ mistakes: [], ...task }, walker.commands);
}

const carries = (thing: number) => (house: House) => house.isCarried(thing);

export const coinCollectorOptions = z.strictObject({
  rooms: rooms(2, 24, 8),
  distractors: z.int().min(0).max(10).default(3).describe('Number of other objects in the house'),
  doors: doors(true),
  fold,
});

const coin = 0;

/** The player must find a coin and take it. */
export function coinCollectorGame(
  options: z.output<typeof coinCollectorOptions>,
  random: RandomGenerator,
): TextGame {
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const [start, end] = shuffled(layout.rooms.keys(), random) as [number, number];
  const distractors = shuffled(clutter, random).slice(0, options.distractors);
  const things: ThingPlan[] = [
    { name: 'coin', at: { kind: 'floor', room: end } },
    ...distractors.map((name) => ({ name, at: inAnyPlace(layout, random) })),
  ];
  const objective = 'Somewhere in this house lies a coin. Find it and take it.';
  const plan = { ...layout, things, start, capacity: Infinity };
  return errand({ plan, objective, goals: [carries(coin)] }, (walker) => walker.fetch(coin));
}

const inAnyPlace = ({ places }: Layout, random: RandomGenerator): Location => ({
  kind: 'place',
  place: random.integers(0, places.length),
});

export const mapReaderOptions = z.strictObject({
  rooms: rooms(3, 24, 12),
  distance: z.int().min(1).max(10).default(4).describe('Maximum distance from start to coin, in rooms'),
  doors: doors(false),
  fold,
});

/** The player must bring a coin from a named room to a box in the start room, and has a map of the connections. */
export function mapReaderGame(options: z.output<typeof mapReaderOptions>, random: RandomGenerator): TextGame {
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const start = random.integers(0, options.rooms);
  const goal = shuffled(withinDistance(layout, start, options.distance), random)[0]!;
  const box = layout.places.length;
  const plan: HousePlan = {
    ...layout,
    places: [...layout.places, { name: 'wooden box', room: start, kind: 'container', state: 'open' }],
    things: [
      { name: 'coin', at: { kind: 'floor', room: goal } },
      { name: 'map', at: { kind: 'carried' }, text: mapText(layout) },
    ],
    start,
    capacity: Infinity,
  };
  const objective = `Take the coin that lies in the ${layout.rooms[goal]!.name}, and put it in the wooden box that stands in the ${layout.rooms[start]!.name}. You carry a map.`;
  return errand({ plan, objective, goals: [carries(coin), (house) => house.isIn(coin, box)] }, (walker) => {
    walker.say('read map');
    walker.fetch(coin);
    walker.putAway(coin, box);
  });
}

/** Rooms that are 1 to `most` steps away from the start. */
function withinDistance({ rooms }: Layout, start: number, most: number): number[] {
  const steps = new Map([[start, 0]]);
  for (const [room, step] of steps)
    for (const direction of directions) {
      const next = rooms[room]!.exits[direction]?.room;
      if (next !== undefined && !steps.has(next)) steps.set(next, step + 1);
    }
  return [...steps].flatMap(([room, step]) => (step > 0 && step <= most ? [room] : []));
}

const mapText = ({ rooms }: Layout): string =>
  rooms
    .map(({ name, exits }) => {
      const ways = directions.flatMap((direction) => {
        const exit = exits[direction];
        return exit === undefined ? [] : [`${direction} the ${rooms[exit.room]!.name}`];
      });
      return `From the ${name}: ${ways.join(', ')}.`;
    })
    .join(' ');

const wanted = z.int().min(1).max(8).default(3);

export const putAwayOptions = z.strictObject({
  rooms: rooms(2, 16, 4),
  things: wanted.describe('Maximum number of things to put away; each has its place in the house'),
  doors: doors(false),
  capacity: z.int().min(0).default(0).describe('Maximum number of things carried at once; 0 for no limit'),
  fold,
});

/** The player must put misplaced household items where they belong. */
export function putAwayGame(options: z.output<typeof putAwayOptions>, random: RandomGenerator): TextGame {
  const drawWithHomes = (): Layout => {
    const layout = drawLayout(options, random);
    return itemsWithHomes(layout).length > 0 ? layout : drawWithHomes();
  };
  const layout = drawIn(options.fold, drawWithHomes, describeLayout);
  const misplaced = shuffled(itemsWithHomes(layout), random).slice(0, options.things);
  const plan: HousePlan = {
    ...layout,
    things: misplaced.map(({ name, home }) => ({ name, at: awayFrom(home, layout, random) })),
    start: random.integers(0, options.rooms),
    capacity: options.capacity || Infinity,
  };
  const [are, they] =
    misplaced.length === 1
      ? ['the thing that is', 'it belongs']
      : [`the ${misplaced.length} things that are`, 'they belong'];
  const objective = `Tidy up: put ${are} not where ${they} into the right place.`;
  const goals = misplaced.map(
    ({ home }, thing) =>
      (house: House) =>
        house.isIn(thing, home),
  );
  return errand({ plan, objective, goals }, (walker) => {
    for (const [thing, { home }] of misplaced.entries()) {
      walker.fetch(thing);
      walker.putAway(thing, home);
    }
  });
}

/** The items that belong in a place of the layout, with the index of that place. */
function itemsWithHomes({ rooms, places }: Layout) {
  return Object.entries(homes).flatMap(([name, [room, place]]) => {
    const home = places.findIndex((one) => one.name === place && rooms[one.room]!.name === room);
    return home < 0 ? [] : [{ name, home }];
  });
}

function awayFrom(home: number, layout: Layout, random: RandomGenerator): Location {
  const place = random.integers(0, layout.places.length);
  if (place !== home) return { kind: 'place', place };
  return { kind: 'floor', room: random.integers(0, layout.rooms.length) };
}

const locks = z.int().min(0).max(3).default(2);

export const treasureHuntOptions = z.strictObject({
  rooms: rooms(3, 20, 6),
  keys: locks.describe('Number of locks; each key except the first is behind the previous lock'),
  decoys: z.int().min(1).max(5).default(2).describe('Number of treasures that must not be taken'),
  doors: doors(true),
  fold,
});

const treasures = ['crown', 'necklace', 'goblet', 'sceptre', 'ruby', 'brooch', 'golden ring', 'pearl'];
const keyNames = ['brass key', 'silver key', 'rusty key'];
const chests = ['iron chest', 'strongbox', 'jewel casket'];

/**
 * The player must find a treasure, usually in a locked chest; taking another one loses. Things: the keys in order, the
 * treasure, the decoys. Key i opens chest i, which contains the next thing.
 */
export function treasureHuntGame(
  options: z.output<typeof treasureHuntOptions>,
  random: RandomGenerator,
): TextGame {
  const { decoys, keys } = options;
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const [treasure, ...others] = shuffled(treasures, random);
  const locked = chests.slice(0, keys).map((name, key) => {
    const room = random.integers(0, layout.rooms.length);
    return { name, room, kind: 'container', state: 'locked', key } as const;
  });
  const behind = (lock: number): Location =>
    lock === 0 ? inAnyPlace(layout, random) : { kind: 'place', place: layout.places.length + lock - 1 };
  const plan: HousePlan = {
    ...layout,
    places: [...layout.places, ...locked],
    things: [
      ...keyNames.slice(0, keys).map((name, key) => ({ name, at: behind(key) })),
      { name: treasure!, at: behind(keys) },
      ...others.slice(0, decoys).map((name) => ({ name, at: inAnyPlace(layout, random) })),
    ],
    start: random.integers(0, layout.rooms.length),
    capacity: Infinity,
  };
  return errand(
    {
      plan,
      objective: `Find the ${treasure!} and take it. Leave every other treasure where it is.`,
      goals: [...Array.from({ length: keys }, (_, key) => carries(key)), carries(keys)],
      mistakes: plan.things.slice(keys + 1).map(({ name }, i) => ({
        holds: carries(keys + 1 + i),
        text: `The ${name} was the wrong treasure.`,
      })),
    },
    (walker) => walker.fetch(keys),
  );
}
