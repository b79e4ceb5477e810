/** Get one thing out of a locked container and touch no other treasure: the wrong one loses. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import { drawIn, folds } from '../folds.js';
import type { House } from '../house/house.js';
import { HouseGame } from '../house/house-game.js';
import { describeLayout, drawLayout, type Layout } from '../house/layout.js';
import type { HousePlan, ThingPlan, Whereabouts } from '../house/plan.js';
import { Walker } from '../house/walker.js';
import type { TextGame } from '../text-game.js';

export const treasureHuntOptions = z.strictObject({
  rooms: z.int().min(3).max(20).default(6).describe('Rooms of the house'),
  keys: z
    .int()
    .min(0)
    .max(3)
    .default(2)
    .describe('Locks on the way: each key but the first lies behind the lock before'),
  decoys: z.int().min(1).max(5).default(2).describe('Treasures that must not be taken'),
  doors: z.boolean().default(true).describe('Whether there are doors to open'),
  fold: z.enum(folds).default('train').describe('No layout is in two of them'),
});

type TreasureHuntOptions = z.output<typeof treasureHuntOptions>;

const treasures = ['crown', 'necklace', 'goblet', 'sceptre', 'ruby', 'brooch', 'golden ring', 'pearl'];
const keyNames = ['brass key', 'silver key', 'rusty key'];
const chests = ['iron chest', 'strongbox', 'jewel casket'];

export function treasureHuntGame(options: TreasureHuntOptions, random: RandomGenerator): TextGame {
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const [treasure, ...others] = shuffled(treasures, random);
  const plan = planOf(options, layout, [treasure!, ...others.slice(0, options.decoys)], random);
  const first = options.keys;
  const walker = new Walker(plan);
  walker.fetch(first);
  const task = {
    plan,
    objective: `Find the ${treasure!} and take it. Leave every other treasure where it is.`,
    goals: [
      ...Array.from({ length: options.keys }, (_, key) => (house: House) => house.isCarried(key)),
      (house: House) => house.isCarried(first),
    ],
    mistakes: plan.things.slice(first + 1).map(({ name }, i) => ({
      holds: (house: House) => house.isCarried(first + 1 + i),
      text: `The ${name} was the wrong treasure.`,
    })),
  };
  return new HouseGame(task, walker.commands);
}

/** Things: the keys in order, the treasure, the decoys. Key i opens chest i, which contains the next thing. */
function planOf(
  { keys }: TreasureHuntOptions,
  layout: Layout,
  [treasure, ...decoys]: readonly string[],
  random: RandomGenerator,
): HousePlan {
  const anywhere = (): Whereabouts => ({
    kind: 'place',
    place: random.integers(0, layout.places.length),
  });
  const locked = chests.slice(0, keys).map((name, key) => ({
    name,
    room: random.integers(0, layout.rooms.length),
    kind: 'container' as const,
    state: 'locked' as const,
    key,
  }));
  const behind = (lock: number): Whereabouts =>
    lock === 0 ? anywhere() : { kind: 'place', place: layout.places.length + lock - 1 };
  const things: ThingPlan[] = [
    ...keyNames.slice(0, keys).map((name, key) => ({ name, at: behind(key) })),
    { name: treasure!, at: behind(keys) },
    ...decoys.map((name) => ({ name, at: anywhere() })),
  ];
  return {
    ...layout,
    places: [...layout.places, ...locked],
    things,
    start: random.integers(0, layout.rooms.length),
    capacity: Infinity,
  };
}
