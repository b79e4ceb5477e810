import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import {
  carveMaze,
  hasPassage,
  type Maze,
  minPathLength,
  parseMaze,
  sampleMaze,
} from '../../../src/environments/props/maze.js';

const passages = ({ lines }: Maze) =>
  lines.flatMap((line, row) => [...line].filter((mark, column) => mark === ' ' && (row + column) % 2 === 1))
    .length;

describe('carved mazes', () => {
  const sizes = fc.record({
    width: fc.integer({ min: 2, max: 12 }),
    height: fc.integer({ min: 2, max: 12 }),
    seed: fc.nat(),
  });

  test('are trees unless walls are removed: one fewer passage than cells, and a path to every cell', () => {
    fc.assert(
      fc.property(sizes, ({ width, height, seed }) => {
        const maze = carveMaze(width, height, seed, 0);
        expect(passages(maze)).toBe(width * height - 1);
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) expect(minPathLength({ ...maze, goal: { x, y } })).toBeDefined();
        }
      }),
      { numRuns: 40 },
    );
  });

  test('have loops where walls are removed, and no inner walls if all are removed', () => {
    fc.assert(
      fc.property(sizes, ({ width, height, seed }) => {
        const inner = (width - 1) * height + width * (height - 1);
        const walls = inner - (width * height - 1);
        const half = carveMaze(width, height, seed, 0.5);
        expect(passages(half)).toBe(width * height - 1 + Math.round(walls / 2));
        const open = carveMaze(width, height, seed, 1);
        expect(passages(open)).toBe(inner);
        expect(minPathLength(open)).toBe(width + height - 2);
      }),
      { numRuns: 40 },
    );
  });

  test('depend on the maze seed, not on the episode seed', async () => {
    const drawn = async (options: Readonly<Record<string, unknown>>, seed: number) => {
      const maze = await makeEnvironment('maze-random-6x4-v0', options);
      maze.reset(seed);
      return JSON.stringify(maze.frame!());
    };
    expect(await drawn({ maze_seed: 3 }, 1)).toBe(await drawn({ mazeSeed: 3 }, 2));
    expect(await drawn({ maze_seed: 3 }, 1)).not.toBe(await drawn({ maze_seed: 4 }, 1));
  });
});

describe('a maze', () => {
  test('with a maze-random id has the size given in the id', async () => {
    const maze = await makeEnvironment('maze-random-7x4-v0');
    expect(maze.observationSpace).toEqual({
      kind: 'tuple',
      spaces: [7, 4].map((n) => ({ kind: 'discrete', n })),
    });
    for (const id of [
      'maze-random-1x5-v0',
      'maze-random-5x101-v0',
      'maze-sample-4x4-v0',
      'maze-random-05x5-v0',
    ]) {
      await expect(makeEnvironment(id)).rejects.toThrow(/unknown environment/);
    }
  });

  test.each([
    ['maze-3x3', 4],
    ['maze-5x5', 14],
  ])('of the configs %s-* takes %d steps, which give the return that the configs state', (name, steps) => {
    for (const set of ['numeric', 'semantic']) {
      const { environment, prompts } = loadConfig({ file: `${name}-${set}` }).config;
      const maze = sampleMaze(environment.id, {});
      expect(minPathLength(maze)).toBe(steps);
      expect(prompts.optimum).toBeCloseTo(1 - ((steps - 1) * 0.1) / (maze.width * maze.height), 2);
    }
  });

  test('with a maze-sample id has a fixed layout', () => {
    expect(sampleMaze('maze-sample-5x5-v0', {}).lines).toEqual([
      '+-+-+-+-+-+',
      '|S|       |',
      '+ +-+-+ + +',
      '|       | |',
      '+-+-+-+-+ +',
      '|   |     |',
      '+ + + +-+-+',
      '| | | |   |',
      '+ + + +-+ +',
      '| |      G|',
      '+-+-+-+-+-+',
    ]);
    expect(minPathLength(sampleMaze('maze-sample-10x10-v0', {}))).toBe(28);
  });

  test('with a custom layout starts at S and ends at G', async () => {
    const layout = ['+-+-+-+', '|G   S|', '+-+-+-+'];
    const maze = await makeEnvironment('maze-sample-3x3-v0', { layout });
    expect(maze.reset(0)).toEqual([2, 0]);
    const stayed = { observation: [2, 0], reward: -0.1 / 3, terminated: false, truncated: false };
    expect(maze.step(0)).toEqual(stayed);
    expect(maze.step(3).observation).toEqual([1, 0]);
    expect(maze.step(3)).toEqual({ observation: [0, 0], reward: 1, terminated: true, truncated: false });
    const { start } = parseMaze(layout);
    const open = [0, 1, 2, 3].map((direction) => hasPassage(parseMaze(layout), start, direction));
    expect(open).toEqual([false, false, false, true]);
  });

  test.each([
    [['+-+', '|S|']],
    [[]],
    [['+-+-+', '|S G|', '+-+']],
    [['+-+-+', '|S.G|', '+-+-+']],
    [['+-+-+', '|S|G|', '+-+-+']],
    [['+-+-+', '|S  |', '+-+-+']],
    [['+-+-+', '|SG |', '+-+-+']],
    [['+-+-+', '|S G ', '+-+-+']],
    [['+-+-+', '|S G|', '+ +-+', '|S  |', '+-+-+']],
    [['+-+-+', '|S S|', '+-+-+']],
  ])('%j is rejected', async (layout) => {
    await expect(makeEnvironment('maze-sample-3x3-v0', { layout })).rejects.toThrow('this is not a maze');
  });
});
