import type { Frame } from '../frame.js';
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
