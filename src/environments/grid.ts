/** Grid worlds: square tiles of side 1, with row 0 at the top and column 0 on the left. */
import { circle, type Frame, line, type Point, type Role, rectangle, type Shape, text } from './frame.js';

/** A move, as changes of row and column. */
export type GridMove = readonly [rows: number, columns: number];

/**
 * The tile that a move leads to; a move off the grid stays at the edge. Tiles are numbered `row · columns + column`.
 */
export function moveOnGrid(tile: number, [down, right]: GridMove, rows: number, columns: number): number {
  const row = Math.min(rows - 1, Math.max(0, Math.floor(tile / columns) + down));
  const column = Math.min(columns - 1, Math.max(0, (tile % columns) + right));
  return row * columns + column;
}

/** A view of the whole grid with a margin. */
export function gridView(rows: number, columns: number): Frame['view'] {
  const margin = 0.2;
  return { min: [-margin, -rows - margin], max: [columns + margin, margin] };
}

export function tileCentre(row: number, column: number): Point {
  return [column + 0.5, -row - 0.5];
}

/** A tile, shrunk by `inset` on every side. */
export function tile(row: number, column: number, role: Role, inset = 0): Shape {
  return rectangle([column + inset, -row - 1 + inset], [column + 1 - inset, -row - inset], role);
}

/** A round piece on a tile. */
export function token(row: number, column: number, role: Role, radius = 0.3): Shape {
  return circle(tileCentre(row, column), radius, role);
}

export function tileText(row: number, column: number, content: string, role: Role, height = 0.4): Shape {
  return text(content, tileCentre(row, column), height, role);
}

/** The lines between and around the tiles. */
export function gridLines(rows: number, columns: number): readonly Shape[] {
  const guide = (from: Point, to: Point) => line(from, to, 0.03, 'guide');
  return [
    ...Array.from({ length: rows + 1 }, (_, row) => guide([0, -row], [columns, -row])),
    ...Array.from({ length: columns + 1 }, (_, column) => guide([column, 0], [column, -rows])),
  ];
}
