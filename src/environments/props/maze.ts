/**
 * Mazes as text: cells are separated by walls, and a space between two cells is a passage. S marks the start, G the
 * goal. For example, `maze-sample-3x3-v0`:
 *
 *     +-+-+-+
 *     |S    |
 *     + +-+ +
 *     | |   |
 *     + +-+-+
 *     |    G|
 *     +-+-+-+
 */
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { createGenerator, type RandomGenerator } from '../../base/random/generator.js';
import type { Observation, Task, TaskStep, TupleSpace } from '../environment.js';
import { type Frame, line, type Shape } from '../frame.js';
import { Grid } from '../grid.js';

export interface Maze {
  /** 2 · height + 1 lines of 2 · width + 1 characters. */
  readonly lines: readonly string[];
  readonly width: number;
  readonly height: number;
  readonly start: Cell;
  readonly goal: Cell;
}

/** x counts columns from the left, y counts rows from the top. */
interface Cell {
  readonly x: number;
  readonly y: number;
}

const maxMazeSize = 100;

/** Cell offsets of the actions north, south, east and west. */
const directions: readonly Cell[] = [
  { x: 0, y: -1 },
  { x: 0, y: 1 },
  { x: 1, y: 0 },
  { x: -1, y: 0 },
];

const neighborOf = ({ x, y }: Cell, step: Cell): Cell => ({ x: x + step.x, y: y + step.y });

/** True if a passage leads from the cell in this direction. */
export function hasPassage({ lines }: Maze, { x, y }: Cell, direction: number): boolean {
  const step = directions[direction]!;
  return lines[2 * y + 1 + step.y]![2 * x + 1 + step.x] === ' ';
}

/** Computes the minimum number of steps from the start to the goal; undefined if the goal is unreachable. */
export function minPathLength(maze: Maze): number | undefined {
  const tileOf = ({ x, y }: Cell) => y * maze.width + x;
  const distances = new Map([[tileOf(maze.start), { cell: maze.start, distance: 0 }]]);
  for (const { cell, distance } of distances.values())
    for (const [direction, step] of directions.entries()) {
      const next = neighborOf(cell, step);
      if (hasPassage(maze, cell, direction) && !distances.has(tileOf(next)))
        distances.set(tileOf(next), { cell: next, distance: distance + 1 });
    }
  return distances.get(tileOf(maze.goal))?.distance;
}

/** @throws UserError if the lines don't form a maze of at most 100 × 100 cells, or the goal is unreachable */
export function parseMaze(lines: readonly string[]): Maze {
  const columns = lines[0]?.length ?? 0;
  const [width, height] = [(columns - 1) / 2, (lines.length - 1) / 2];
  const cellOf = (letter: string): Cell => {
    const position = lines.join('').indexOf(letter);
    return { x: ((position % columns) - 1) / 2, y: (Math.floor(position / columns) - 1) / 2 };
  };
  const [start, goal] = [cellOf('S'), cellOf('G')];
  const maze = { lines, width, height, start, goal };
  const isWellFormed =
    [width, height, start.x, start.y, goal.x, goal.y].every((n) => Number.isInteger(n) && n >= 0) &&
    Math.max(width, height) <= maxMazeSize &&
    lines.every((line) => line.length === columns && /^[-+|].*[-+|]$/.test(line)) &&
    /^[-+|]+$/.test(lines[0]! + lines.at(-1)!) &&
    /^[-+| ]*[SG][-+| ]*[SG][-+| ]*$/.test(lines.join(''));
  if (isWellFormed && minPathLength(maze) !== undefined) return maze;
  throw new UserError({
    field: 'layout',
    message: 'this is not a maze with a path from S to G',
    value: lines,
    hint: `write 2 · rows + 1 lines of 2 · columns + 1 characters, with at most ${maxMazeSize} rows and columns: -, | and + for the border and inner walls, spaces for cells and passages, and S and G in one cell each`,
  });
}

/** Carves a maze by a random depth-first walk from the top left, then removes a share of the remaining inner walls. */
export function carveMaze(width: number, height: number, seed: number, loopShare: number): Maze {
  const random = createGenerator(seed);
  const lines = uncarvedLines(width, height);
  const path: Cell[] = [{ x: 0, y: 0 }];
  const visited = new Set([0]);
  for (let cell = path.at(-1); cell !== undefined; cell = path.at(-1)) {
    const from = cell;
    const openSteps = directions.filter((step) => {
      const { x, y } = neighborOf(from, step);
      return x >= 0 && x < width && y >= 0 && y < height && !visited.has(y * width + x);
    });
    if (openSteps.length === 0) {
      path.pop();
      continue;
    }
    const step = random.choice(openSteps);
    lines[2 * from.y + 1 + step.y]![2 * from.x + 1 + step.x] = ' ';
    const next = neighborOf(from, step);
    visited.add(next.y * width + next.x);
    path.push(next);
  }
  openWalls(lines, loopShare, random);
  return parseMaze(lines.map((line) => line.join('')));
}

function uncarvedLines(width: number, height: number): string[][] {
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
      const isInside = row > 0 && row < lines.length - 1 && column > 0 && column < line.length - 1;
      return isInside && (mark === '|' || mark === '-') ? [[row, column] as const] : [];
    }),
  );
  for (let remaining = Math.round(share * walls.length); remaining > 0; remaining--) {
    const [row, column] = walls.splice(random.integers(0, walls.length), 1)[0]!;
    lines[row]![column] = ' ';
  }
}

export const sampleMazeOptions = z.strictObject({ layout: z.array(z.string()).nullish() });

export const randomMazeOptions = z.strictObject({
  maze_seed: z.int().min(0).default(0),
  loop_share: z.number().min(0).max(1).default(0),
});

/** Ids of the mazes in the catalogue; `maze-random-` also accepts other sizes. */
export const mazeIds = {
  samples: ['maze-sample-3x3-v0', 'maze-sample-5x5-v0', 'maze-sample-10x10-v0'],
  random: ['maze-random-3x3-v0', 'maze-random-5x5-v0', 'maze-random-10x10-v0'],
} as const;

/** Returns the size of the maze with this id; undefined if it isn't a maze of 2 to 100 cells per side. */
export function mazeSize(id: string): { readonly width: number; readonly height: number } | undefined {
  const sides = /^maze-\w+-([1-9]\d*)x([1-9]\d*)-v0$/.exec(id)?.slice(1).map(Number);
  if (sides === undefined || sides.some((side) => side < 2 || side > maxMazeSize)) return undefined;
  return { width: sides[0]!, height: sides[1]! };
}

/**
 * Returns the maze of `layout`, if given; otherwise the ProPS paper's maze for 3 × 3, and a carved maze, which differs
 * from gym-maze's, for other sizes.
 * @throws UserError if `layout` isn't a valid maze
 */
export function sampleMaze(
  id: string,
  { layout }: { readonly layout?: readonly string[] | null | undefined },
): Maze {
  if (layout !== undefined && layout !== null) return parseMaze(layout);
  const { width, height } = mazeSize(id)!;
  if (width === 3) return parseMaze(sample3x3);
  return carveMaze(width, height, 1, width === 10 ? 0.1 : 0);
}

/** Creates a random maze, which depends only on the id and the options, not on an episode's seed. */
export function randomMaze(id: string, { maze_seed, loop_share }: z.output<typeof randomMazeOptions>): Maze {
  const { width, height } = mazeSize(id)!;
  return carveMaze(width, height, maze_seed, loop_share);
}

const sample3x3 = ['+-+-+-+', '|S    |', '+ +-+ +', '| |   |', '+ +-+-+', '|    G|', '+-+-+-+'];

/**
 * A deterministic walk through a maze (gym-maze's rules). Observation: x from the left and y from the top.
 * Action: 0 north, 1 south, 2 east, 3 west; a wall leaves the agent where it is. Reward: 1 for reaching the
 * goal, otherwise −0.1 divided by the number of cells.
 */
export class MazeWalk implements Task<number> {
  readonly observationSpace: TupleSpace;
  readonly actionSpace = { kind: 'discrete', n: directions.length } as const;
  readonly #maze: Maze;
  readonly #stepReward: number;
  #cell: Cell;

  constructor(maze: Maze) {
    const { width, height, start } = maze;
    this.#maze = maze;
    this.#cell = start;
    this.#stepReward = -0.1 / (width * height);
    this.observationSpace = { kind: 'tuple', spaces: [width, height].map((n) => ({ kind: 'discrete', n })) };
  }

  reset(): Observation {
    this.#cell = this.#maze.start;
    return [this.#cell.x, this.#cell.y];
  }

  step(action: number): TaskStep {
    if (hasPassage(this.#maze, this.#cell, action)) this.#cell = neighborOf(this.#cell, directions[action]!);
    const { x, y } = this.#cell;
    const terminated = x === this.#maze.goal.x && y === this.#maze.goal.y;
    return { observation: [x, y], reward: terminated ? 1 : this.#stepReward, terminated };
  }

  frame(): Frame {
    const { width, height, goal, start, lines } = this.#maze;
    const grid = new Grid(height, width);
    const tileOf = ({ x, y }: Cell) => y * width + x;
    const walls = lines.flatMap((marks, row) =>
      [...marks].flatMap((mark, column): readonly Shape[] => {
        // Odd columns hold cells and the walls above and below them.
        const [x, y] = [Math.floor(column / 2), -Math.floor(row / 2)];
        if (mark === ' ' || row % 2 === column % 2) return [];
        return [line([x, y], row % 2 === 0 ? [x + 1, y] : [x, y - 1], 0.12, 'ground')];
      }),
    );
    return {
      view: grid.view,
      shapes: [
        grid.tile(tileOf(start), 'guide', 0.3),
        grid.tile(tileOf(goal), 'goal', 0.12),
        ...grid.lines,
        ...walls,
        grid.token(tileOf(this.#cell), 'agent'),
      ],
    };
  }
}
