import type { Frame, Shape } from '../frame.js';
import { gridLines, gridView, tile, tileCentre, tileText } from '../grid-drawing.js';

type Tile = readonly [row: number, column: number];

const letters = ['R', 'G', 'Y', 'B'];

/** The town from above: the taxi, the four stands, the passenger (a dot) and the destination (a filled stand). */
export function drawTaxi(town: {
  readonly size: number;
  readonly stands: readonly Tile[];
  /** Columns whose right side is a wall, for each row. */
  readonly walls: readonly (readonly number[])[];
  readonly taxi: Tile;
  /** Index of the stand where the passenger waits; undefined in the taxi. */
  readonly waitingAt: number | undefined;
  readonly destination: number;
}): Frame {
  const { size, stands, walls, taxi, waitingAt, destination } = town;
  const [row, column] = waitingAt === undefined ? taxi : stands[waitingAt]!;
  const [x, y] = tileCentre(row, column);
  const aside = waitingAt === undefined ? 0 : 0.3; // so that the taxi doesn't hide who waits
  return {
    view: gridView(size, size),
    shapes: [
      tile(...stands[destination]!, 'goal', 0.04),
      ...gridLines(size, size),
      ...walls.flatMap((columns, wallRow) => columns.map((wallColumn) => wall(wallRow, wallColumn))),
      ...stands.map(([standRow, standColumn], i) =>
        tileText(standRow, standColumn, letters[i]!, 'guide', 0.5),
      ),
      tile(...taxi, 'agent', 0.2),
      { kind: 'circle', centre: [x + aside, y - aside], radius: 0.14, role: 'object' },
    ],
  };
}

function wall(row: number, column: number): Shape {
  return {
    kind: 'line',
    points: [
      [column + 1, -row],
      [column + 1, -row - 1],
    ],
    width: 0.12,
    role: 'ground',
  };
}
