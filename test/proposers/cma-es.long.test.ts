import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { CmaEsConfig } from '../../src/config/baselines.js';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import type { Baseline } from '../../src/proposers/baseline.js';
import { createCmaEs } from '../../src/proposers/cma-es.js';
import type { ScoredParameters } from '../../src/rollout/replay-buffer.js';
import reference from '../fixtures/cma-reference.json' with { type: 'json' };
import { lakeTable } from '../support/records.js';

type Objective = (x: ParameterVector) => number;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
};
const norm = (x: ParameterVector) => Math.sqrt(sum(x.map((value) => value ** 2)));

const objectives: Readonly<Record<string, Objective>> = {
  sphere: (x) => sum(x.map((value) => value ** 2)),
  ellipsoid: (x) => sum(x.map((value, i) => 10 ** ((4 * i) / (x.length - 1)) * value ** 2)),
  rosenbrock: (x) => sum(x.slice(1).map((next, i) => 100 * (next - x[i]! ** 2) ** 2 + (1 - x[i]!) ** 2)),
};

const config = (given: Partial<CmaEsConfig> = {}): CmaEsConfig => ({
  provider: 'cma-es',
  sigma: 2,
  ...given,
});
const wide = (count: number): ParameterSpec => ({ count, kind: 'float', low: -100, high: 100, decimals: 6 });
const coarse = (count: number): ParameterSpec => ({ count, kind: 'float', low: -6, high: 6, decimals: 1 });

async function ask(
  model: Baseline,
  parameters: ParameterSpec,
  history: readonly ScoredParameters[],
  warmup: number,
  seed: number,
): Promise<ParameterVector> {
  return model.propose({ parameters, history, warmup }, createGenerator(seed));
}

/** Minimises `f` from one warm-up point until it is below `target` or after `limit` evaluations. */
async function minimise(
  f: Objective,
  spec: ParameterSpec,
  start: ParameterVector,
  options: { model: Baseline; seed: number; target: number; limit: number },
): Promise<readonly ScoredParameters[]> {
  const history: ScoredParameters[] = [{ parameters: start, score: -f(start) }];
  while (history.length <= options.limit) {
    const seed = options.seed * 100_000 + history.length;
    const x = await ask(options.model, spec, history, 1, seed);
    history.push({ parameters: x, score: -f(x) });
    if (f(x) < options.target) break;
  }
  return history;
}

describe('CMA-ES compared with pycma', () => {
  it.each(reference.problems)('needs a similar number of evaluations: $name', async (problem) => {
    const counts: number[] = [];
    for (let seed = 1; seed <= problem.evaluations.length; seed++) {
      const history = await minimise(
        objectives[problem.name]!,
        wide(problem.n),
        Array<number>(problem.n).fill(problem.start),
        {
          model: createCmaEs(
            config({ sigma: problem.sigma, population: 4 + Math.floor(3 * Math.log(problem.n)) }),
          ),
          seed,
          target: problem.target,
          limit: 10_000,
        },
      );
      counts.push(history.length - 1);
    }
    const ratio = median(counts) / median(problem.evaluations);
    expect(ratio).toBeGreaterThan(1 / 1.3);
    expect(ratio).toBeLessThan(1.3);
  });
});

describe('the start of a CMA-ES search', () => {
  const centerOf = async (history: readonly ScoredParameters[], warmup: number) => {
    const points: ParameterVector[] = [];
    for (let seed = 0; seed < 200; seed++) {
      points.push(await ask(createCmaEs(config({ sigma: 0.5 })), coarse(3), history, warmup, seed));
    }
    return [0, 1, 2].map((i) => sum(points.map((point) => point[i]!)) / points.length);
  };
  const near = (values: readonly number[], expected: readonly number[]) => {
    for (const [i, value] of values.entries()) expect(Math.abs(value - expected[i]!)).toBeLessThan(0.15);
  };

  it('is the best warm-up point, or the earliest of equally good ones', async () => {
    const history = [
      { parameters: [-4, 0, 0], score: 1 },
      { parameters: [1, 2, 3], score: 5 },
      { parameters: [3, 3, -3], score: 5 },
      // Not of the warm-up.
      { parameters: [-2, -2, -2], score: 9 },
    ];
    near(await centerOf(history, 3), [1, 2, 3]);
  });

  it('is the middle of the range without a warm-up', async () => {
    near(await centerOf([], 0), [0, 0, 0]);
  });
});

describe('the distribution of CMA-ES', () => {
  it('is updated once per generation', async () => {
    const model = createCmaEs(config({ population: 6 }));
    const history: ScoredParameters[] = [{ parameters: [0, 0, 0], score: 0 }];
    const samples: string[] = [];
    for (let i = 0; i < 18; i++) {
      samples.push(String(await ask(model, coarse(3), history, 1, 42)));
      const x = await ask(model, coarse(3), history, 1, i);
      history.push({ parameters: x, score: -norm(x) });
    }
    const generations = [samples.slice(0, 6), samples.slice(6, 12), samples.slice(12)];
    for (const generation of generations) expect(new Set(generation).size).toBe(1);
    expect(new Set(samples).size).toBe(3);
  });

  it('has generations of a default size, rounded up to whole iterations', async () => {
    /** After how many evaluations the distribution changes. */
    const changes = async (given: Partial<CmaEsConfig>, candidates?: number) => {
      const model = createCmaEs({ provider: 'cma-es', ...given }, candidates);
      const history: ScoredParameters[] = [{ parameters: [0, 0, 0], score: 0 }];
      let [before, found] = [String(await ask(model, coarse(3), history, 1, 42)), [] as number[]];
      for (let i = 1; i <= 20; i++) {
        const x = await ask(model, coarse(3), history, 1, i);
        history.push({ parameters: x, score: -norm(x) });
        const sample = String(await ask(model, coarse(3), history, 1, 42));
        if (sample !== before) found.push(i);
        before = sample;
      }
      return found;
    };
    expect(await changes({})).toEqual([6, 12, 18]);
    expect(await changes({ sigma: 4 })).toEqual([6, 12, 18]);
    expect(await changes({}, 4)).toEqual([8, 16]);
    expect(await changes({ population: 10 }, 5)).toEqual([10, 20]);
  });

  it('widens on a plateau of equal returns', async () => {
    const model = createCmaEs(config({ sigma: 0.3 }));
    const history: ScoredParameters[] = [{ parameters: [0, 0, 0], score: -200 }];
    for (let i = 0; i < 140; i++) {
      history.push({ parameters: await ask(model, coarse(3), history, 1, i), score: -200 });
    }
    const distances = history.map(({ parameters }) => norm(parameters));
    expect(median(distances.slice(1, 15))).toBeLessThan(1);
    expect(median(distances.slice(-14))).toBeGreaterThan(3);
  });

  it('restarts elsewhere once it is narrower than the grid and finds nothing better', async () => {
    const target = [1, -2, 3, 0, 1, -1, 2, -2];
    const distance: Objective = (x) => norm(x.map((value, i) => value - target[i]!));
    const history = await minimise(distance, coarse(8), Array<number>(8).fill(0), {
      model: createCmaEs(config()),
      seed: 1,
      target: -1,
      limit: 1200,
    });
    const distances = history.map(({ parameters }) => distance(parameters));
    const found = distances.indexOf(0);
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(800);
    const restart = distances.findIndex((d, i) => i > found && d > 5);
    expect(restart).toBeGreaterThan(found);
    expect(Math.max(...distances.slice(restart - 50, restart))).toBeLessThan(1);
  });

  it('gets close to the corner of the range on a steep slope without leaving the range', async () => {
    const model = createCmaEs(config());
    const history: ScoredParameters[] = [];
    for (let i = 0; i < 300; i++) {
      const x = await ask(model, coarse(5), history, 0, i);
      expect(x.every((value) => Math.abs(value) <= 6)).toBe(true);
      // A slope towards a corner, where everything is clamped.
      history.push({ parameters: x, score: 1e12 * sum([...x]) });
    }
    expect(Math.max(...history.map(({ score }) => score))).toBeGreaterThan(0.9 * 3e13);
  });

  it('adapts to different scales of 101 parameters', async () => {
    const n = 101;
    const scaled: Objective = (x) => sum(x.map((value, i) => (i < 51 ? 1 : 100) * value ** 2));
    const history = await minimise(scaled, wide(n), Array<number>(n).fill(1), {
      model: createCmaEs(config({ sigma: 0.5 })),
      seed: 3,
      target: 100,
      limit: 5000,
    });
    expect(-history.at(-1)!.score).toBeLessThan(100);
  });

  it('leads to the best choices of a table', async () => {
    const spec = { ...lakeTable, count: 12 };
    const wrong: Objective = (x) => x.filter((value, i) => value !== i % 4).length;
    const history = await minimise(wrong, spec, Array<number>(12).fill(1), {
      model: createCmaEs(config({ sigma: 1 })),
      seed: 5,
      target: 1,
      limit: 2000,
    });
    expect(history.at(-1)!.score).toBe(-0);
  });
});

describe('the configured start of CMA-ES', () => {
  const spec = coarse(3);
  const history = [{ parameters: [6, 6, 6], score: 1 }];
  const middleOf = async (given: Omit<CmaEsConfig, 'provider'>) => {
    const model = createCmaEs({ provider: 'cma-es', ...given });
    const points: ParameterVector[] = [];
    for (let seed = 0; seed < 60; seed++) points.push(await ask(model, spec, history, 1, seed));
    return sum(points.flat()) / 180;
  };

  it('is the best of the warm-up or, on request, the centre of the range', async () => {
    expect(await middleOf({ sigma: 0.5 })).toBeGreaterThan(5);
    expect(await middleOf({ sigma: 0.5, start: 'best' })).toBeGreaterThan(5);
    expect(Math.abs(await middleOf({ sigma: 0.5, start: 'centre' }))).toBeLessThan(0.3);
  });

  it('is surrounded by points whose spread follows the range if the config has no sigma', async () => {
    const spread = async (half: number) => {
      const box = { ...spec, low: -half, high: half, decimals: 3 };
      const model = createCmaEs({ provider: 'cma-es', start: 'centre' });
      const points: number[] = [];
      for (let seed = 0; seed < 60; seed++) points.push(...(await ask(model, box, [], 0, seed)));
      return Math.sqrt(sum(points.map((value) => value ** 2)) / 180) / half;
    };
    expect((await spread(1)) / (await spread(10))).toBeCloseTo(1, 1);
  });
});
