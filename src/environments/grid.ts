import { circle, type Frame, line, type Point, type Role, rectangle, type Shape, text } from './frame.js';

/** Row and column changes for the directions up, right, down and left. */
const offsets = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;

/** Square tiles of side 1, numbered `row · columns + column`, with row 0 at the top and column 0 on the left. */
export class Grid {
  readonly rows: number;
  readonly columns: number;
  readonly size: number;
  readonly view: Frame['view'];
  readonly lines: readonly Shape[];

  constructor(rows: number, columns: number) {
    this.rows = rows;
    this.columns = columns;
    this.size = rows * columns;
    this.view = { min: [-0.2, -rows - 0.2], max: [columns + 0.2, 0.2] };
    const guide = (from: Point, to: Point) => line(from, to, 0.03, 'guide');
    this.lines = [
      ...Array.from({ length: rows + 1 }, (_, row) => guide([0, -row], [columns, -row])),
      ...Array.from({ length: columns + 1 }, (_, column) => guide([column, 0], [column, -rows])),
    ];
  }

  /** Returns the tile after a move; moves off the grid have no effect. @param direction clockwise from up, modulo 4 */
  move(tile: number, direction: number): number {
    const [down, right] = offsets[direction % 4] as (typeof offsets)[number];
    const [row, column] = this.#placeOf(tile);
    const clampIndex = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
    return clampIndex(row + down, this.rows) * this.columns + clampIndex(column + right, this.columns);
  }

  center(tile: number): Point {
    const [row, column] = this.#placeOf(tile);
    return [column + 0.5, -row - 0.5];
  }

  /** Draws the square of a tile, shrunk by `inset` on every side. */
  tile(tile: number, role: Role, inset = 0): Shape {
    const [row, column] = this.#placeOf(tile);
    return rectangle([column + inset, -row - 1 + inset], [column + 1 - inset, -row - inset], role);
  }

  token(tile: number, role: Role, radius = 0.3): Shape {
    return circle(this.center(tile), radius, role);
  }

  text(tile: number, content: string, role: Role, height = 0.4): Shape {
    return text(content, this.center(tile), height, role);
  }

  #placeOf(tile: number): readonly [row: number, column: number] {
    return [Math.floor(tile / this.columns), tile % this.columns];
  }
}
