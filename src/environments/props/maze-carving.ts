import { createGenerator, type RandomGenerator } from '../../random.js';
import { directions, type Maze, parseMaze } from './maze-layout.js';

/**
 * A maze without loops, carved by a random depth-first walk from the top left corner, then `loopShare` of the walls that
 * are left inside taken away. From the top left to the bottom right corner.
 */
export function carveMaze(
  width: number,
  height: number,
  options: { readonly seed: number; readonly loopShare: number },
): Maze {
  const random = createGenerator(options.seed);
  const lines = closedLines(width, height);
  const cells = [{ x: 0, y: 0 }];
  const visited = new Set([0]);
  for (let cell = cells.at(-1); cell !== undefined; cell = cells.at(-1)) {
    const { x, y } = cell;
    const ahead = directions.filter(
      (step) =>
        x + step.x >= 0 &&
        x + step.x < width &&
        y + step.y >= 0 &&
        y + step.y < height &&
        !visited.has((y + step.y) * width + x + step.x),
    );
    if (ahead.length === 0) {
      cells.pop();
      continue;
    }
    const step = random.choice(ahead);
    lines[2 * y + 1 + step.y]![2 * x + 1 + step.x] = ' ';
    const next = { x: x + step.x, y: y + step.y };
    visited.add(next.y * width + next.x);
    cells.push(next);
  }
  openWalls(lines, options.loopShare, random);
  return parseMaze(lines.map((line) => line.join('')));
}

/** A grid of cells with every wall. */
function closedLines(width: number, height: number): string[][] {
  const lines = Array.from({ length: 2 * height + 1 }, (_, row) =>
    Array.from({ length: 2 * width + 1 }, (_, column): string =>
      row % 2 === 0 ? (column % 2 === 0 ? '+' : '-') : column % 2 === 0 ? '|' : ' ',
    ),
  );
  lines[1]![1] = 'S';
  lines[2 * height - 1]![2 * width - 1] = 'G';
  return lines;
}

function openWalls(lines: string[][], share: number, random: RandomGenerator): void {
  const walls = lines.flatMap((line, row) =>
    line.flatMap((mark, column) => {
      const inside = row > 0 && row < lines.length - 1 && column > 0 && column < line.length - 1;
      return inside && (mark === '|' || mark === '-') ? [[row, column] as const] : [];
    }),
  );
  for (let left = Math.round(share * walls.length); left > 0; left--) {
    const [[row, column]] = walls.splice(random.integers(0, walls.length), 1) as [readonly [number, number]];
    lines[row]![column] = ' ';
  }
}
