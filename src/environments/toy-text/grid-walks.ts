/** Walks over a grid of tiles: the frozen lake and the cliff. */

import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import type { Frame, Shape } from '../frame.js';
import { gridLines, gridView, moveOnGrid, tile, tileText, token } from '../grid.js';
import { type Outcome, TabularTask } from './tabular-task.js';

const rows = 4;
const columns = 12;
const start = 36;
const goal = 47;

/** Row and column steps of the actions up, right, down, left. */
const directions = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;

/**
 * A walk along a cliff (Sutton and Barto, example 6.6): stepping off it costs 100 and leads back to the
 * start. Observation: row · 12 + column. Action: 0 up, 1 right, 2 down, 3 left. On slippery ground, the
 * chosen direction and the two perpendicular ones each have probability 1/3.
 */
export function cliffWalking(options: { readonly is_slippery: boolean }): TabularTask {
  return new TabularTask({
    states: rows * columns,
    actions: directions.length,
    initial: Array.from({ length: rows * columns }, (_, state) => (state === start ? 1 : 0)),
    outcomes: (state, action) =>
      options.is_slippery
        ? [(action + 3) % 4, action, (action + 1) % 4].map((direction) => move(state, direction, 1 / 3))
        : [move(state, action, 1)],
    draw: drawCliff,
  });
}

function move(state: number, direction: number, probability: number): Outcome {
  const next = moveOnGrid(state, directions[direction]!, rows, columns);
  const fell = next > start && next < goal;
  return fell
    ? { probability, state: start, reward: -100, terminated: false }
    : { probability, state: next, reward: -1, terminated: next === goal };
}

/** Top view of the grid; the cliff is the bottom row between start and goal. */
function drawCliff(state: number): Frame {
  const rowOf = (place: number) => Math.floor(place / columns);
  const cliff = Array.from({ length: goal - start - 1 }, (_, i) => start + 1 + i);
  return {
    view: gridView(rows, columns),
    shapes: [
      ...cliff.map((place) => tile(rowOf(place), place % columns, 'danger')),
      tile(rowOf(goal), goal % columns, 'goal', 0.08),
      ...gridLines(rows, columns),
      tileText(rowOf(start), start % columns, 'S', 'guide'),
      token(rowOf(state), state % columns, 'agent'),
    ],
  };
}

/** The two maps that come with Gymnasium. S: start, F: frozen, H: hole, G: goal. */
export const frozenLakeMaps = {
  '4x4': ['SFFF', 'FHFH', 'FFFH', 'HFFG'],
  '8x8': ['SFFFFFFF', 'FFFFFFFF', 'FFFHFFFF', 'FFFFFHFF', 'FFFHFFFF', 'FHHFFFHF', 'FHFFHFHF', 'FFFHFFFG'],
} as const;

export const frozenLakeOptions = z.strictObject({
  /** Rows of a custom map, instead of `map_name`. */
  desc: z.array(z.string()).nullish(),
  map_name: z.enum(['4x4', '8x8']).nullable().default('4x4'),
  is_slippery: z.boolean().default(true),
  /** Probability of moving in the chosen direction on slippery ice; the two perpendicular lakeDirections share the rest. */
  success_rate: z
    .number()
    .min(0)
    .max(1)
    .default(1 / 3),
  /** Rewards for reaching the goal, a hole, and any other tile. */
  reward_schedule: z.tuple([z.number(), z.number(), z.number()]).default([1, 0, 0]),
});
type FrozenLakeOptions = z.output<typeof frozenLakeOptions>;

/** Row and column steps of the actions left, down, right, up. */
const lakeDirections = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
] as const;

/**
 * A walk across a frozen lake to the goal, past holes that end the episode. Observation: row · columns + column.
 * Action: 0 left, 1 down, 2 right, 3 up.
 * @throws UserError for a map that is empty, isn't a rectangle, has no start, or contains letters other than S, F, H, G
 */
export function frozenLake(options: FrozenLakeOptions): TabularTask {
  const map = chooseMap(options);
  const [rows, columns] = [map.length, map[0]!.length];
  const [goalReward, holeReward, frozenReward] = options.reward_schedule;
  const tiles = map.join('');
  const starts = tiles.split('S').length - 1;
  const failRate = (1 - options.success_rate) / 2;

  const move = (state: number, action: number, probability: number): Outcome => {
    const next = moveOnGrid(state, lakeDirections[action]!, rows, columns);
    const tile = tiles[next];
    const reward = tile === 'G' ? goalReward : tile === 'H' ? holeReward : frozenReward;
    return { probability, state: next, reward, terminated: tile === 'G' || tile === 'H' };
  };

  return new TabularTask({
    states: tiles.length,
    actions: lakeDirections.length,
    initial: Array.from(tiles, (tile) => (tile === 'S' ? 1 / starts : 0)),
    outcomes: (state, action) =>
      options.is_slippery
        ? [
            move(state, (action + 3) % 4, failRate),
            move(state, action, options.success_rate),
            move(state, (action + 1) % 4, failRate),
          ]
        : [move(state, action, 1)],
    draw: (state) => drawLake(map, state),
  });
}

function chooseMap({ desc, map_name }: FrozenLakeOptions): readonly string[] {
  if (desc !== undefined && desc !== null) {
    checkMap(desc);
    return desc;
  }
  if (map_name !== null) return frozenLakeMaps[map_name];
  throw new UserError({
    field: 'map_name',
    message: 'a random map is not offered: runs must be repeatable',
    value: map_name,
    alternatives: Object.keys(frozenLakeMaps),
    remedy: 'draw a map once and give its rows as `desc`',
  });
}

function checkMap(desc: readonly string[]): void {
  const problem = (message: string, remedy: string) =>
    new UserError({ field: 'desc', message, value: desc, remedy });
  const columns = desc[0]?.length ?? 0;
  if (columns === 0) throw problem('the map is empty', 'give one string a row, e.g. ["SF", "HG"]');
  if (desc.some((row) => row.length !== columns)) {
    throw problem('the rows of the map differ in length', `make each row ${columns} letters long`);
  }
  const strange = /[^SFHG]/.exec(desc.join(''));
  if (strange !== null) {
    throw problem(`the map has a tile ${strange[0]}`, 'use S (start), F (frozen), H (hole) and G (goal)');
  }
  if (!desc.some((row) => row.includes('S'))) throw problem('the map has no start', 'make one tile an S');
}

/** Top view of the lake. @param map rows of S, F, H and G */
function drawLake(map: readonly string[], state: number): Frame {
  const [rows, columns] = [map.length, map[0]!.length];
  const places = map.flatMap((line, row) =>
    [...line].flatMap((letter, column) => place(letter, row, column)),
  );
  return {
    view: gridView(rows, columns),
    shapes: [
      ...gridLines(rows, columns),
      ...places,
      token(Math.floor(state / columns), state % columns, 'agent', 0.22),
    ],
  };
}

function place(letter: string, row: number, column: number): readonly Shape[] {
  switch (letter) {
    case 'S':
      return [tileText(row, column, 'S', 'guide')];
    case 'H':
      return [token(row, column, 'danger', 0.4)];
    case 'G':
      return [tile(row, column, 'goal', 0.08)];
    default:
      return [];
  }
}
