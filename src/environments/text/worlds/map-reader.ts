/**
 * A map shows the connections of the house: fetch the coin from the named room and bring it to the box at the start.
 */
import { z } from 'zod';
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import { drawIn, folds } from '../folds.js';
import type { House } from '../house/house.js';
import { HouseGame } from '../house/house-game.js';
import { describeLayout, drawLayout, type Layout } from '../house/layout.js';
import { directions, type HousePlan } from '../house/plan.js';
import { Walker } from '../house/walker.js';
import type { TextGame } from '../text-game.js';

export const mapReaderOptions = z.strictObject({
  rooms: z.int().min(3).max(24).default(12).describe('Rooms of the house'),
  distance: z.int().min(1).max(10).default(4).describe('Most rooms from the start to the coin'),
  doors: z.boolean().default(false).describe('Whether there are doors to open'),
  fold: z.enum(folds).default('train').describe('No layout is in two of them'),
});

type MapReaderOptions = z.output<typeof mapReaderOptions>;

const coin = 0;

export function mapReaderGame(options: MapReaderOptions, random: RandomGenerator): TextGame {
  const layout = drawIn(options.fold, () => drawLayout(options, random), describeLayout);
  const start = random.integers(0, options.rooms);
  const near = withinDistance(layout, start, options.distance);
  const goal = shuffled(near, random)[0]!;
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
  const walker = new Walker(plan);
  walker.say('read map');
  walker.fetch(coin);
  walker.putAway(coin, box);
  const task = {
    plan,
    objective: `Take the coin that lies in the ${layout.rooms[goal]!.name}, and put it in the wooden box that stands in the ${layout.rooms[start]!.name}. You carry a map.`,
    goals: [(house: House) => house.isCarried(coin), (house: House) => house.isIn(coin, box)],
    mistakes: [],
  };
  return new HouseGame(task, walker.commands);
}

/** Rooms other than the start that are at most `most` steps away. */
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
