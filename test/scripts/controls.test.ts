import { describe, expect, it } from 'vitest';
import { type FamilyRow, familiesTable, figuresOf } from '../../scripts/controls/families-table.js';
import { reachedBy, taskOf } from '../../scripts/controls/play.js';
import { meanRanks } from '../../scripts/controls/ranks.js';
import { createMix, createRandomSearch } from '../../src/search/local-search.js';

it('meanRanks ranks the highest value first, and ties alike', () => {
  expect(meanRanks([[5, 3, 4]])).toEqual([1, 3, 2]);
  expect(
    meanRanks([
      [1, 1, 0],
      [2, 1, 1],
    ]),
  ).toEqual([1.25, 2, 2.75]);
  expect(() => meanRanks([[1], [1, 2]])).toThrow(RangeError);
});

describe('the table of families', () => {
  const draw = (number: number, left: number): FamilyRow => ({
    ...{ kind: 'draw', family: 'swing', number, left, parameters: 4 + number },
    ...{ ties: number === 1 ? 0.9 : 0.1, median: 0 },
  });
  const run = (number: number, control: string, ...reached: number[]): FamilyRow => ({
    ...{ kind: 'run', family: 'swing', number, control, reached },
  });
  const rows = [
    ...[draw(0, 0.4), draw(1, 0), draw(2, 0.2)],
    ...[run(0, 'random', 1, 1, 2), run(0, 'mix', 2, 3, 4, 8), run(0, 'gp', 2, 3, 5)],
    ...[run(2, 'random', 0, 0, 1), run(2, 'mix', 1, 2, 2, 2)],
  ];

  it('normalises by the median random policy and the best return of any baseline', () => {
    const { reached, tasks, wins } = figuresOf(rows, 'swing', ['random', 'mix', 'gp', 'cma']);
    expect(tasks).toBe(2);
    expect(reached.get('random')).toEqual([1 / 16, 1 / 16, 3 / 8]);
    expect(reached.get('mix')).toEqual([3 / 8, 11 / 16, 3 / 4]);
    expect(reached.has('cma')).toBe(false);
    expect(wins.get('random')).toBe(0);
    expect(wins.get('mix')).toBe(2 / 3);
  });

  it('shows how many draws were accepted', () => {
    const table = familiesTable(rows, ['random', 'mix', 'gp', 'cma']);
    expect(table).toContain('| `swing` | 5 (4–6) | 33 % | 67 %, 33 % of 3 | 2 |');
    expect(table).toContain('| 0 / 67 / 100 / – |');
  });
});

it('a baseline gives the same result twice, and mix beats random search on a synthetic task', async () => {
  const task = taskOf({
    environment: { id: 'synthetic:network', options: { seed: 3, parameters: 6 } },
    evaluation: { episodes: 1, maxSteps: 10 },
    seed: 5,
  });
  const mix = await reachedBy(task, createMix());
  expect(await reachedBy(task, createMix())).toEqual(mix);
  const random = await reachedBy(task, createRandomSearch());
  expect(mix[2]).toBeGreaterThan(random[2]!);
});
