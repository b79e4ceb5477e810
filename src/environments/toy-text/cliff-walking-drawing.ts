import type { Frame } from '../frame.js';
import { gridLines, gridView, tile, tileText, token } from '../grid-drawing.js';

/** The cliff from above: the bottom row between the start and the goal. */
export function drawCliff(grid: {
  readonly rows: number;
  readonly columns: number;
  readonly start: number;
  readonly goal: number;
  readonly state: number;
}): Frame {
  const { rows, columns, start, goal, state } = grid;
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
