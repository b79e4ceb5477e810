import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import type { Baseline } from '../../src/proposers/baseline.js';
import { createHillClimb, createMix, createRandomSearch } from '../../src/proposers/local-search.js';
import type { ScoredParameters } from '../../src/rollout/replay-buffer.js';
import { lakeTable } from '../support/records.js';

async function samples(
  model: Baseline,
  parameters: ParameterSpec,
  history: readonly ScoredParameters[],
  count: number,
): Promise<readonly ParameterVector[]> {
  const points: ParameterVector[] = [];
  for (let seed = 0; seed < count; seed++) {
    points.push(await model.propose({ parameters, history, warmup: 0 }, createGenerator(seed)));
  }
  return points;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: readonly number[]) => {
  const center = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)));
};

describe('random search', () => {
  it('draws all values of the range with equal probability, including its ends', async () => {
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

  it('takes steps of size sigma from the best point', async () => {
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 0.5 }), spec, history, 400);
    for (const [i, center] of [1, -1, 2, 0].entries()) {
      const values = points.map((point) => point[i]!);
      expect(Math.abs(mean(values) - center)).toBeLessThan(0.1);
      expect(Math.abs(deviation(values) - 0.5)).toBeLessThan(0.08);
    }
  });

  it('scales its steps with the range if the config has no sigma', async () => {
    const stepOf = async (half: number) => {
      const box = { ...spec, low: -half, high: half, decimals: 3 };
      const points = await samples(
        createHillClimb({ provider: 'hill-climb' }),
        box,
        [{ parameters: [0, 0, 0, 0], score: 0 }],
        300,
      );
      return deviation(points.flat()) / half;
    };
    const [narrow, wide] = [await stepOf(1), await stepOf(10)];
    expect(narrow).toBeGreaterThan(0.1);
    expect(narrow / wide).toBeCloseTo(1, 1);
  });

  it('starts from the newest of equally good points, so it can leave a plateau', async () => {
    const plateau = [...history, { parameters: [-3, -3, -3, -3], score: 3 }];
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 0.1 }), spec, plateau, 50);
    for (const point of points) expect(Math.abs(mean(point) + 3)).toBeLessThan(1);
  });

  it('stays within the range', async () => {
    const corner = [{ parameters: [6, -6, 6, -6], score: 0 }];
    const points = await samples(createHillClimb({ provider: 'hill-climb', sigma: 5 }), spec, corner, 100);
    for (const value of points.flat()) expect(Math.abs(value)).toBeLessThanOrEqual(6);
    expect(new Set(points.map(String)).size).toBe(100);
  });

  it('changes few entries of a table, and at least one', async () => {
    const table = { ...lakeTable, count: 64 };
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

describe('a mix of boundary and Gaussian steps', () => {
  const spec: ParameterSpec = { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 };
  const inside = Array.from({ length: 10 }, (_, i) => (i - 5) / 10);
  const proposed = async (count: number, history: readonly ScoredParameters[]) => {
    const control = createMix();
    const task = { parameters: spec, history, warmup: history.length };
    return Promise.all(
      Array.from({ length: count }, (_, seed) => control.propose(task, createGenerator(seed))),
    );
  };

  it('moves about a third of the coordinates to an end of the range in half of its proposals', async () => {
    const points = await proposed(3000, [{ parameters: inside, score: 1 }]);
    const isCorner = (point: ParameterVector) =>
      point.every((value, i) => value === inside[i] || Math.abs(value) === 6);
    const corners = points.filter(isCorner);
    expect(corners.length / points.length).toBeCloseTo(0.5, 1);
    const moved = corners.flatMap((point) => point.map((value, i) => Number(value !== inside[i])));
    expect(mean(moved)).toBeCloseTo(0.35, 1);
  });
  it('takes both small and large Gaussian steps', async () => {
    const points = await proposed(3000, [{ parameters: inside, score: 1 }]);
    const steps = points
      .filter((point) => point.every((value) => Math.abs(value) < 6))
      .map((point) => Math.sqrt(mean(point.map((value, i) => (value - inside[i]!) ** 2))));
    expect(Math.min(...steps)).toBeLessThan(0.5);
    expect(Math.max(...steps)).toBeGreaterThan(2.5);
  });
  it('starts from the newest of equally good points', async () => {
    const other = inside.map((value) => value + 1);
    const points = await proposed(40, [
      { parameters: inside, score: 1 },
      { parameters: other, score: 1 },
    ]);
    const shares = points.map((point) => point.filter((value, i) => value === other[i]).length);
    expect(mean(shares)).toBeGreaterThan(2.5);
  });
});
