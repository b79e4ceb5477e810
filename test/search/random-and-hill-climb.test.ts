import { describe, expect, it } from 'vitest';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import type { Evaluated } from '../../src/rollout/replay-buffer.js';
import type { Control } from '../../src/search/control.js';
import { createHillClimb, createRandomSearch } from '../../src/search/local-search.js';

async function samples(
  model: Control,
  parameters: ParameterSpec,
  history: readonly Evaluated[],
  count: number,
): Promise<readonly ParameterVector[]> {
  const points: ParameterVector[] = [];
  for (let seed = 0; seed < count; seed++) {
    points.push(model.propose({ parameters, history, warmup: 0 }, createGenerator(seed)));
  }
  return points;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: readonly number[]) => {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
};

describe('random search', () => {
  it('draws every value of the range alike, its ends too', async () => {
    const spec: ParameterSpec = { count: 20, kind: 'float', low: -0.2, high: 0.2, decimals: 1 };
    const counts = new Map<number, number>();
    for (const value of (await samples(createRandomSearch(), spec, [], 500)).flat()) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([-0.2, -0.1, 0, 0.1, 0.2]);
    // 10,000 draws: 2000 of each, with a standard deviation of 40.
    for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(200);
  });
});

describe('hill climbing', () => {
  const spec: ParameterSpec = { count: 4, kind: 'float', low: -6, high: 6, decimals: 2 };
  const history = [
    { parameters: [5, 5, 5, 5], score: 1 },
    { parameters: [1, -1, 2, 0], score: 3 },
    { parameters: [4, 4, 4, 4], score: 2 },
  ];

  it('steps from the best point, by sigma', async () => {
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 0.5 }), spec, history, 400);
    for (const [i, centre] of [1, -1, 2, 0].entries()) {
      const values = points.map((point) => point[i]!);
      expect(Math.abs(mean(values) - centre)).toBeLessThan(0.1);
      expect(Math.abs(deviation(values) - 0.5)).toBeLessThan(0.08);
    }
  });

  it('takes the newest of equals, so that it leaves a plateau', async () => {
    const plateau = [...history, { parameters: [-3, -3, -3, -3], score: 3 }];
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 0.1 }), spec, plateau, 50);
    for (const point of points) expect(Math.abs(mean(point) + 3)).toBeLessThan(1);
  });

  it('keeps within the range', async () => {
    const corner = [{ parameters: [6, -6, 6, -6], score: 0 }];
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 5 }), spec, corner, 100);
    for (const value of points.flat()) expect(Math.abs(value)).toBeLessThanOrEqual(6);
    expect(new Set(points.map(String)).size).toBe(100);
  });

  it('changes few entries of a table, and at least one', async () => {
    const table: ParameterSpec = {
      count: 64,
      kind: 'integer',
      low: 0,
      high: 3,
      decimals: 0,
      choices: [0, 1, 2, 3],
    };
    const best = Array.from({ length: 64 }, (_, i) => i % 4);
    const points = await samples(
      createHillClimb({ provider: 'hill-climb', sigma: 1 }),
      table,
      [{ parameters: best, score: 0 }],
      300,
    );
    const changes = points.map((point) => point.filter((value, i) => value !== best[i]).length);
    expect(Math.min(...changes)).toBe(1);
    // One for certain, and one more on average.
    expect(mean(changes)).toBeGreaterThan(1.6);
    expect(mean(changes)).toBeLessThan(2.4);
  });
});
