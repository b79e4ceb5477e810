import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import type { Evaluated } from '../../src/rollout/replay-buffer.js';
import { createGridSearch } from '../../src/search/grid-search.js';
import type { GridConfig } from '../../src/search/settings.js';

const grid = (config: Partial<GridConfig> = {}) =>
  createGridSearch({ provider: 'grid', order: 'spread', ...config });
const spec = (count: number, size = 5): ParameterSpec => ({
  ...{ count, kind: 'float', low: 0, high: (size - 1) / 10, decimals: 1 },
});

/** So many proposals, one an iteration, each evaluated. */
function walk(
  config: Partial<GridConfig>,
  parameters: ParameterSpec,
  proposals: number,
  start: ParameterVector[] = [],
) {
  const control = grid(config);
  const history: Evaluated[] = start.map((point) => ({ parameters: point, score: 0 }));
  for (let i = 0; i < proposals; i++) {
    const task = { parameters, history, warmup: start.length, proposed: i };
    history.push({ parameters: control.propose(task, createGenerator(i)) as ParameterVector, score: -i });
  }
  return history.slice(start.length).map((one) => one.parameters);
}

const distinct = (points: readonly ParameterVector[]) => new Set(points.map((point) => point.join(' '))).size;

describe('grid search', () => {
  it('walks row by row, changing the last parameter fastest', () => {
    expect(walk({ order: 'rows', points: 3 }, spec(2), 9)).toEqual([
      [0, 0],
      [0, 0.2],
      [0, 0.4],
      [0.2, 0],
      [0.2, 0.2],
      [0.2, 0.4],
      [0.4, 0],
      [0.4, 0.2],
      [0.4, 0.4],
    ]);
  });

  it('visits every grid point once before any other point, in either order', () => {
    const shape = fc.record({
      count: fc.integer({ min: 1, max: 4 }),
      points: fc.integer({ min: 2, max: 5 }),
      order: fc.constantFrom('spread' as const, 'rows' as const),
    });
    fc.assert(
      fc.property(shape, ({ count, points, order }) => {
        const size = points ** count;
        const values = new Set(
          Array.from({ length: points }, (_, i) => Math.round((i * 20) / (points - 1)) / 10),
        );
        const met = walk({ order, points }, spec(count, 21), size);
        expect(distinct(met)).toBe(size);
        for (const point of met) for (const value of point) expect(values).toContain(value);
      }),
      { numRuns: 40 },
    );
  });

  it('continues with a finer grid and visits every allowed point once', () => {
    for (const order of ['spread', 'rows'] as const) {
      const met = walk({ order, points: 2 }, spec(2, 6), 36);
      expect(distinct(met)).toBe(36);
      expect(
        met
          .slice(0, 4)
          .flat()
          .every((value) => value === 0 || value === 0.5),
      ).toBe(true);
    }
  });

  it('spreads its first points over both halves of each parameter, unlike row order', () => {
    const points = walk({}, { ...spec(10), low: -6, high: 6 }, 64);
    for (let i = 0; i < 10; i++) {
      const low = points.filter((point) => point[i]! < 0).length;
      expect(low).toBeGreaterThan(64 * 0.25);
      expect(low).toBeLessThan(64 * 0.75);
    }
    const rows = walk({ order: 'rows' }, { ...spec(10), low: -6, high: 6 }, 64);
    expect(new Set(rows.map((point) => point[0])).size).toBe(1);
  });

  it('limits the values per parameter to keep the grid at 1,000 points, but uses at least two', () => {
    const valuesOf = (count: number) =>
      new Set(walk({}, spec(count, 2001), 1000).map((point) => point[0])).size;
    expect(valuesOf(1)).toBe(1000);
    expect(valuesOf(3)).toBe(10);
    expect(valuesOf(12)).toBe(2);
  });

  it('skips the points of the warm-up', () => {
    const [first, second] = walk({}, spec(2), 2) as [ParameterVector, ParameterVector];
    const met = walk({}, spec(2), 23, [first, second]);
    expect(distinct([...met, first, second])).toBe(25);
  });

  it('gives the candidates of an iteration the points that single proposals would visit', async () => {
    const parameters = spec(3);
    const single = walk({}, parameters, 6);
    const randoms = Array.from({ length: 6 }, (_, i) => createGenerator(i));
    expect(await grid().proposeGroup?.({ parameters, history: [], warmup: 0, proposed: 0 }, randoms)).toEqual(
      single,
    );
    const later = await grid().proposeGroup?.(
      { parameters, history: [], warmup: 0, proposed: 3 },
      randoms.slice(3),
    );
    expect(later).toEqual(single.slice(3));
  });

  it('tries every table of actions', () => {
    const table: ParameterSpec = {
      ...{ count: 3, kind: 'integer', low: 1, high: 3, decimals: 0 },
      choices: [1, 2, 3],
    };
    expect(distinct(walk({}, table, 27))).toBe(27);
  });

  it('ignores returns', () => {
    const parameters = spec(3);
    const control = grid();
    const propose = (score: number) =>
      control.propose(
        { parameters, history: [{ parameters: [0.1, 0.1, 0.1], score }], warmup: 1, proposed: 4 },
        createGenerator(1),
      );
    expect(propose(5)).toEqual(propose(-5));
  });
});
