/** The mazes that environments are made of, by their ids. */
import { z } from 'zod';
import { carveMaze } from './maze-carving.js';
import { largestMaze, type Maze, parseMaze } from './maze-layout.js';

export const sampleMazeOptions = z.strictObject({ layout: z.array(z.string()).nullish() });

export const randomMazeOptions = z.strictObject({
  maze_seed: z.int().min(0).default(0),
  loop_share: z.number().min(0).max(1).default(0),
});

/** The ids of the mazes that come with the package; those of random mazes of other sizes are valid, too. */
export const mazeIds = {
  samples: ['maze-sample-3x3-v0', 'maze-sample-5x5-v0', 'maze-sample-10x10-v0'],
  random: ['maze-random-3x3-v0', 'maze-random-5x5-v0', 'maze-random-10x10-v0'],
} as const;

/** Size of the maze that an id promises; undefined where it names no maze, or one beyond 2 to 100 cells a side. */
export function mazeSize(id: string): { readonly width: number; readonly height: number } | undefined {
  const sides = /^maze-\w+-([1-9]\d*)x([1-9]\d*)-v0$/.exec(id)?.slice(1).map(Number);
  if (sides === undefined || sides.some((side) => side < 2 || side > largestMaze)) return undefined;
  return { width: sides[0]!, height: sides[1]! };
}

/**
 * `maze-sample-3x3-v0` is that of ProPS. The samples of 5 × 5 and 10 × 10 are carved here, with a seed that stays: they
 * are not those of gym-maze.
 * @throws UserError for a layout that can't be used
 */
export function sampleMaze(
  id: string,
  { layout }: { readonly layout?: readonly string[] | null | undefined },
): Maze {
  if (layout !== undefined && layout !== null) return parseMaze(layout);
  const { width, height } = mazeSize(id)!;
  if (width === 3) return parseMaze(sample3x3);
  return carveMaze(width, height, { seed: 1, loopShare: width === 10 ? 0.1 : 0 });
}

/** The same maze for the same id and options, whatever the seed of an episode. */
export function randomMaze(id: string, options: z.output<typeof randomMazeOptions>): Maze {
  const { width, height } = mazeSize(id)!;
  return carveMaze(width, height, { seed: options.maze_seed, loopShare: options.loop_share });
}

const sample3x3 = ['+-+-+-+', '|S    |', '+ +-+ +', '| |   |', '+ +-+-+', '|    G|', '+-+-+-+'];
