import type { Frame, Shape } from '../frame.js';
import { gridLines, gridView, tile, tileText, token } from '../grid-drawing.js';

/** The lake from above. @param map rows of S, F, H and G */
export function drawLake(map: readonly string[], state: number): Frame {
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
