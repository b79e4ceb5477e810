import { describe, expect, it } from 'vitest';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import type { Evaluated } from '../../src/rollout/replay-buffer.js';
import { createTeacher } from '../../src/search/teacher.js';

async function samples(
  parameters: ParameterSpec,
  history: readonly Evaluated[],
  count: number,
  from = 0,
): Promise<readonly ParameterVector[]> {
  const model = createTeacher();
  const points: ParameterVector[] = [];
  for (let seed = from; seed < from + count; seed++) {
    points.push(await model.propose({ parameters, history, warmup: 0 }, createGenerator(seed)));
  }
  return points;
}

const spec: ParameterSpec = { count: 8, kind: 'float', low: -6, high: 6, decimals: 1 };
const table: ParameterSpec = {
  count: 30,
  kind: 'integer',
  low: 0,
  high: 3,
  decimals: 0,
  choices: [0, 1, 2, 3],
};
const distance = (a: ParameterVector, b: ParameterVector) =>
  Math.hypot(...a.map((value, i) => value - b[i]!));
const share = <T>(items: readonly T[], holds: (item: T) => boolean) =>
  items.filter(holds).length / items.length;

describe('the teacher', () => {
  const best = [2, -3, 1, 4, -1, 0, 3, -2];
  const random = createGenerator(5);
  const others = Array.from({ length: 20 }, (_, i) => ({
    parameters: best.map(() => Math.round(random.uniform(-60, 60)) / 10),
    score: i,
  }));
  const history = [...others, { parameters: best, score: 100 }];

  it('proposes points near the best, at several scales, and some far from it', async () => {
    const distances = (await samples(spec, history, 600)).map((point) => distance(point, best));
    expect(share(distances, (d) => d < 1)).toBeGreaterThan(0.08);
    expect(share(distances, (d) => d < 4)).toBeGreaterThan(0.25);
    expect(share(distances, (d) => d > 8)).toBeGreaterThan(0.2);
    expect(share(distances, (d) => d > 8)).toBeLessThan(0.6);
  });

  it('changes only one to three coordinates of the best in about one of eight proposals', async () => {
    const changed = (await samples(spec, history, 600)).map(
      (point) => point.filter((value, i) => value !== best[i]).length,
    );
    // The share of its own, and what rounding leaves of small Gaussian steps.
    expect(share(changed, (n) => n <= 3)).toBeGreaterThan(0.08);
    expect(share(changed, (n) => n <= 3)).toBeLessThan(0.25);
    expect(Math.min(...changed)).toBe(1);
  });

  it('scales its steps with the range', async () => {
    const narrow: ParameterSpec = { ...spec, low: -0.06, high: 0.06, decimals: 3 };
    const shrink = (point: ParameterVector) => point.map((value) => value / 100);
    const small = history.map(({ parameters, score }) => ({ parameters: shrink(parameters), score }));
    // The same draws on the same grid, a hundredth as wide.
    expect(
      (await samples(narrow, small, 200)).map((point) => point.map((value) => Math.round(value * 1000) / 10)),
    ).toEqual(await samples(spec, history, 200));
  });

  it('moves along the direction from worse to better', async () => {
    const line = [
      { parameters: Array<number>(8).fill(-2), score: 0 },
      { parameters: Array<number>(8).fill(0), score: 1 },
    ];
    const along = share(
      await samples(spec, line, 400),
      (point) => new Set(point).size === 1 && point[0]! > 0.5 && point[0]! <= 2.4,
    );
    expect(along).toBeGreaterThan(0.1);
    expect(along).toBeLessThan(0.3);
  });

  it('is uniform without a history, and proposes other points if it has only one', async () => {
    const values = (await samples(spec, [], 300)).flat();
    expect(share(values, (value) => value > 3)).toBeCloseTo(0.25, 1);
    const one = await samples(spec, [{ parameters: best, score: 1 }], 300);
    for (const point of one) expect(point).not.toEqual(best);
  });

  it('takes the newest of equals as the best', async () => {
    const plateau = [
      ...Array.from({ length: 12 }, (_, i) => ({ parameters: best.map(() => -5 + i / 10), score: 0 })),
      { parameters: best, score: 0 },
    ];
    const points = await samples(spec, plateau, 300);
    expect(share(points, (point) => distance(point, best) < 3)).toBeGreaterThan(0.15);
  });

  it('makes both small and large changes to tables, and never repeats a known one', async () => {
    const tables = Array.from({ length: 12 }, (_, i) => ({
      parameters: Array.from({ length: 30 }, () => random.integers(0, 4)),
      score: i,
    }));
    const top = tables.at(-1)!.parameters;
    const points = await samples(table, tables, 500);
    const changes = points.map((point) => point.filter((value, i) => value !== top[i]).length);
    expect(Math.min(...changes)).toBe(1);
    expect(share(changes, (n) => n <= 3)).toBeGreaterThan(0.2);
    expect(share(changes, (n) => n > 15)).toBeGreaterThan(0.15);
    for (const point of points) expect(tables.map(({ parameters }) => parameters)).not.toContainEqual(point);
  });

  it('gives each seed its own draw', async () => {
    expect(new Set((await samples(spec, history, 200)).map(String)).size).toBeGreaterThan(195);
    expect(await samples(spec, history, 5, 7)).toEqual((await samples(spec, history, 12)).slice(7));
  });
});
