import { randomMaze, sampleMaze } from '../environments/props/mazes.js';
import { type Facts, type Options, option, short } from './fact-values.js';

/** The maze that the environment of this id is made with, drawn with characters. */
export function mazeFacts(options: Options, id: string): Facts {
  const { lines, width, height, start, goal } = id.startsWith('maze-random')
    ? randomMaze(id, {
        maze_seed: option(options, 'maze_seed', 0),
        loop_share: option(options, 'loop_share', 0),
      })
    : sampleMaze(id, { layout: option<readonly string[] | null>(options, 'layout', null) });
  return {
    lines: lines.map((text) => ({ text })),
    columns: width,
    rows: height,
    lastColumn: width - 1,
    lastRow: height - 1,
    start: { x: start.x, y: start.y },
    goal: { x: goal.x, y: goal.y },
    stepCost: short(0.1 / (width * height)),
  };
}
