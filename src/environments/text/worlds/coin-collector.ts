/** Find the coin and take it. */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import { drawIn, folds } from '../folds.js';
import { HouseGame } from '../house/house-game.js';
import { describeLayout, drawLayout } from '../house/layout.js';
import type { HousePlan } from '../house/plan.js';
import { clutter } from '../house/vocabulary.js';
import { Walker } from '../house/walker.js';
import type { TextGame } from '../text-game.js';

export const coinCollectorOptions = z.strictObject({
  rooms: z.int().min(2).max(24).default(8).describe('Rooms of the house'),
  distractors: z.int().min(0).max(10).default(3).describe('Things that lie about'),
  doors: z.boolean().default(true).describe('Whether there are doors to open'),
  fold: z.enum(folds).default('train').describe('No layout is in two of them'),
});

const coin = 0;

export function coinCollectorGame(
  options: z.output<typeof coinCollectorOptions>,
  random: RandomGenerator,
): TextGame {
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const [start, end] = shuffled(layout.rooms.keys(), random);
  const plan: HousePlan = {
    ...layout,
    things: [
      { name: 'coin', at: { kind: 'floor', room: end! } },
      ...shuffled(clutter, random)
        .slice(0, options.distractors)
        .map((name) => ({
          name,
          at: { kind: 'place', place: random.integers(0, layout.places.length) } as const,
        })),
    ],
    start: start!,
    capacity: Infinity,
  };
  const walker = new Walker(plan);
  walker.fetch(coin);
  const task = {
    plan,
    objective: 'Somewhere in this house lies a coin. Find it and take it.',
    goals: [(house: { isCarried(thing: number): boolean }) => house.isCarried(coin)],
    mistakes: [],
  };
  return new HouseGame(task, walker.commands);
}
