/**
 * Mazes as text: a cell is a letter with walls round it, a space between two cells is a passage. S is the start, G the
 * goal. `maze-sample-3x3-v0`:
 *
 *     +-+-+-+
 *     |S    |
 *     + +-+ +
 *     | |   |
 *     + +-+-+
 *     |    G|
 *     +-+-+-+
 */
import { UserError } from '../../errors.js';

/** Columns and rows of cells, and where an episode starts and ends. */
export interface Maze {
  /** 2 · height + 1 lines of 2 · width + 1 characters. */
  readonly lines: readonly string[];
  readonly width: number;
  readonly height: number;
  readonly start: Cell;
  readonly goal: Cell;
}

/** x counts from the left, y from the top. */
export interface Cell {
  readonly x: number;
  readonly y: number;
}

/** Cells a side, at most. */
export const largestMaze = 100;

/** Steps of the actions north, south, east and west. */
export const directions: readonly Cell[] = [
  { x: 0, y: -1 },
  { x: 0, y: 1 },
  { x: 1, y: 0 },
  { x: -1, y: 0 },
];

/** Whether one can go from a cell in a direction. */
export function isOpen({ lines }: Maze, { x, y }: Cell, direction: number): boolean {
  const step = directions[direction]!;
  return lines[2 * y + 1 + step.y]![2 * x + 1 + step.x] === ' ';
}

/** Fewest steps from the start to the goal; undefined where there is no way. */
export function shortestPath(maze: Maze): number | undefined {
  const key = ({ x, y }: Cell) => y * maze.width + x;
  const distances = new Map([[key(maze.start), 0]]);
  const queue = [maze.start];
  for (const cell of queue) {
    const distance = distances.get(key(cell))!;
    if (key(cell) === key(maze.goal)) return distance;
    for (const [direction, step] of directions.entries()) {
      if (!isOpen(maze, cell, direction)) continue;
      const next = { x: cell.x + step.x, y: cell.y + step.y };
      if (distances.has(key(next))) continue;
      distances.set(key(next), distance + 1);
      queue.push(next);
    }
  }
  return undefined;
}

/** @throws UserError for lines that are no maze, or one without a way to the goal */
export function parseMaze(lines: readonly string[]): Maze {
  const problem = (message: string, remedy: string) =>
    new UserError({ field: 'layout', message, value: lines, remedy });
  const columns = lines[0]?.length ?? 0;
  const [width, height] = [(columns - 1) / 2, (lines.length - 1) / 2];
  if (lines.some((line) => line.length !== columns)) {
    throw problem('the lines of the maze differ in length', `make each ${columns} characters long`);
  }
  const whole = Number.isInteger(width) && Number.isInteger(height);
  if (!whole || width < 1 || height < 1 || width > largestMaze || height > largestMaze) {
    throw problem(
      `${lines.length} lines of ${columns} characters are no maze`,
      `give 2 · rows + 1 lines of 2 · columns + 1 characters, at most ${largestMaze} rows and columns`,
    );
  }
  const strange = /[^-+| SG]/.exec(lines.join(''))?.[0];
  if (strange !== undefined) {
    throw problem(
      `the maze has a character ${JSON.stringify(strange)}`,
      'use -, | and + for walls, spaces for cells and passages, S and G',
    );
  }
  const border = [lines[0]!, lines.at(-1)!, ...lines.map((line) => line[0]! + line.at(-1)!)].join('');
  if (/[ SG]/.test(border)) throw problem('the maze is open at its edge', 'close the border with -, | and +');
  const maze = { lines, width, height, start: find('S'), goal: find('G') };
  if (shortestPath(maze) === undefined) {
    throw problem('no way leads from the start to the goal', 'open a wall by a space');
  }
  return maze;

  function find(letter: 'S' | 'G'): Cell {
    const cells = lines.flatMap((line, row) =>
      [...line].flatMap((mark, column) => (mark === letter ? [{ row, column }] : [])),
    );
    const [cell] = cells;
    if (cells.length !== 1 || cell!.row % 2 === 0 || cell!.column % 2 === 0) {
      throw problem(`the maze needs one ${letter} in a cell`, 'S marks the start, G the goal');
    }
    return { x: (cell!.column - 1) / 2, y: (cell!.row - 1) / 2 };
  }
}
