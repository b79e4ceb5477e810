/** Parts of drawings of grid worlds: square tiles of side 1, row 0 at the top, column 0 on the left. */
import type { Frame, Point, Role, Shape } from './frame.js';

/** All of a grid, with a margin for its border. */
export function gridView(rows: number, columns: number, margin = 0.2): Frame['view'] {
  return { min: [-margin, -rows - margin], max: [columns + margin, margin] };
}

export function tileCentre(row: number, column: number): Point {
  return [column + 0.5, -row - 0.5];
}

/** A tile, `inset` smaller on every side. */
export function tile(row: number, column: number, role: Role, inset = 0): Shape {
  return {
    kind: 'rectangle',
    min: [column + inset, -row - 1 + inset],
    max: [column + 1 - inset, -row - inset],
    role,
  };
}

/** A round piece on a tile. */
export function token(row: number, column: number, role: Role, radius = 0.3): Shape {
  return { kind: 'circle', centre: tileCentre(row, column), radius, role };
}

export function tileText(row: number, column: number, text: string, role: Role, height = 0.4): Shape {
  return { kind: 'text', centre: tileCentre(row, column), height, text, role };
}

/** The lines between the tiles and round them. */
export function gridLines(rows: number, columns: number): readonly Shape[] {
  const line = (from: Point, to: Point): Shape => ({
    kind: 'line',
    points: [from, to],
    width: 0.03,
    role: 'guide',
  });
  return [
    ...Array.from({ length: rows + 1 }, (_, row) => line([0, -row], [columns, -row])),
    ...Array.from({ length: columns + 1 }, (_, column) => line([column, 0], [column, -rows])),
  ];
}
