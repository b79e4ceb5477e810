/** Bayesian optimisation: compares its mathematics with references, and tests its behaviour in typical searches. */
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { logExpectedImprovement, logMeanExp } from '../../src/proposers/acquisition.js';
import {
  type Metric,
  negativeLogPosterior,
  posteriorOf,
  priorOf,
} from '../../src/proposers/gaussian-process.js';
import { createGp, normalScores } from '../../src/proposers/gp.js';
import type { ScoredParameters } from '../../src/rollout/replay-buffer.js';
import recorded from '../fixtures/gp-reference.json' with { type: 'json' };
import { lakeTable } from '../support/records.js';

interface Belief {
  readonly means: readonly number[];
  readonly variances: readonly number[];
}
interface Reference extends Belief {
  readonly metric: Metric;
  readonly rows: readonly (readonly number[])[];
  readonly returns: readonly number[];
  readonly targets: readonly number[];
  readonly hyperparameters: readonly number[];
  readonly value: number;
  readonly slope: readonly number[];
  readonly points: readonly (readonly number[])[];
  readonly believed: Belief;
}
const references = recorded as readonly Reference[];

const observationsOf = ({ rows, metric, returns }: Reference) => ({
  rows: rows.map((row) => Float64Array.from(row)),
  targets: normalScores(returns),
  metric,
});

const allClose = (found: Iterable<number>, wanted: readonly number[], digits = 8) => {
  const values = [...found];
  expect(values).toHaveLength(wanted.length);
  for (const [i, value] of values.entries()) expect(value).toBeCloseTo(wanted[i]!, digits);
};

describe.each(references)(
  'a Gaussian process with metric $metric and hyperparameters $hyperparameters',
  (reference) => {
    const hyperparameters = Float64Array.from(reference.hyperparameters);
    const observations = observationsOf(reference);
    const prior = priorOf(3, false);

    it('uses normal scores of ranks, and their mean for ties', () => {
      allClose(observations.targets, reference.targets);
    });
    it('matches the likelihood and the gradient of dense algebra', () => {
      const { value, gradient } = negativeLogPosterior(observations, hyperparameters, prior);
      expect(value).toBeCloseTo(reference.value, 9);
      allClose(gradient, reference.slope, 6);
    });
    it('has a gradient that matches finite differences', () => {
      const { gradient } = negativeLogPosterior(observations, hyperparameters, prior);
      const at = (i: number, by: number) =>
        negativeLogPosterior(observations, hyperparameters.with(i, hyperparameters[i]! + by), prior).value;
      for (const i of gradient.keys())
        expect(gradient[i]).toBeCloseTo((at(i, 1e-5) - at(i, -1e-5)) / 2e-5, 5);
    });
    it('matches the posterior of dense algebra, even after a point is added with its predicted value', () => {
      const points = reference.points.map((point) => Float64Array.from(point));
      const posterior = posteriorOf(observations, hyperparameters);
      const beliefs = (of: typeof posterior) => points.map((point) => of.predict(point));
      const check = (of: typeof posterior, { means, variances }: Belief) => {
        allClose(
          beliefs(of).map(({ mean }) => mean),
          means,
        );
        allClose(
          beliefs(of).map(({ variance }) => variance),
          variances,
        );
      };
      check(posterior, reference);
      check(posterior.withBelief(points[0]!), reference.believed);
    });
  },
);

it("a Gaussian process works with covariances that can't be factored", () => {
  const rows = [Float64Array.of(0.5), Float64Array.of(0.5), Float64Array.of(0.5)];
  const observations = { rows, targets: Float64Array.of(-1, 0, 1), metric: 'distance' } as const;
  const posterior = posteriorOf(observations, Float64Array.of(0, -60));
  expect(posterior.predict(Float64Array.of(0.5)).mean).toBeCloseTo(0, 6);
});

describe('expected improvement', () => {
  /** By the trapezoidal rule over eight deviations. */
  function integrated(mean: number, variance: number, best: number): number {
    const deviation = Math.sqrt(variance);
    const [from, steps] = [Math.max(best, mean - 12 * deviation), 400_000];
    const width = (Math.max(mean, best) + 12 * deviation - from) / steps;
    let sum = 0;
    for (let i = 0; i <= steps; i++) {
      const y = from + i * width;
      const density = Math.exp(-(((y - mean) / deviation) ** 2) / 2) / (deviation * Math.sqrt(2 * Math.PI));
      sum += (i === 0 || i === steps ? 0.5 : 1) * Math.max(0, y - best) * density;
    }
    return sum * width;
  }
  it.each([
    [0, 1, 0],
    [1, 0.25, 0],
    [-1, 0.09, 0.5],
    [0.3, 4, 2],
    [-3, 0.1, 0.05],
  ])('of N(%d, %d) over %d equals its integral', (mean, variance, best) => {
    expect(logExpectedImprovement(mean, variance, best)).toBeCloseTo(
      Math.log(integrated(mean, variance, best)),
      5,
    );
  });
  it('keeps falling without a jump where it would underflow', () => {
    const at = (u: number) => logExpectedImprovement(u, 1, 0);
    expect(at(-10 - 1e-6)).toBeCloseTo(at(-10 + 1e-6), 3);
    expect(at(-50)).toBeLessThan(at(-40));
    expect(Number.isFinite(at(-1000))).toBe(true);
  });
  it('equals the improvement if the variance is 0', () => {
    expect(logExpectedImprovement(2, 0, 1)).toBe(0);
    expect(logExpectedImprovement(0, 0, 1)).toBe(Number.NEGATIVE_INFINITY);
  });
  it('can be averaged from logarithms whose exponentials underflow', () => {
    expect(logMeanExp([-1000, -1000 + Math.log(3)])).toBeCloseTo(-1000 + Math.log(2), 12);
    expect(logMeanExp([Number.NEGATIVE_INFINITY])).toBe(Number.NEGATIVE_INFINITY);
  });
});

const numbers = (count: number): ParameterSpec => ({ count, kind: 'float', low: -6, high: 6, decimals: 1 });

function drawn(
  spec: ParameterSpec,
  count: number,
  score: (point: ParameterVector) => number,
): ScoredParameters[] {
  const random = createGenerator(5);
  const value = () => (spec.choices ? random.choice(spec.choices) : Math.round(random.uniform(-60, 60)) / 10);
  return Array.from({ length: count }, () => {
    const parameters = Array.from({ length: spec.count }, value);
    return { parameters, score: score(parameters) };
  });
}

async function searched(spec: ParameterSpec, proposals: number, score: (point: ParameterVector) => number) {
  const control = createGp();
  const history = drawn(spec, 4, score);
  for (let i = 0; i < proposals; i++) {
    const task = { parameters: spec, history: [...history], warmup: 4 };
    const parameters = await control.propose(task, createGenerator(i));
    history.push({ parameters, score: score(parameters) });
  }
  return history;
}

const bowl = (point: ParameterVector) => -point.reduce((sum, x, i) => sum + (x - (i % 3)) ** 2, 0);

describe('Bayesian optimisation', () => {
  it('gets close to the optimum of a bowl in 40 evaluations, unlike random search', async () => {
    const history = await searched(numbers(4), 36, bowl);
    expect(Math.max(...history.map(({ score }) => score))).toBeGreaterThan(-0.2);
    expect(Math.max(...drawn(numbers(4), 40, bowl).map(({ score }) => score))).toBeLessThan(-2);
  });
  it('finds nearly all entries of a table, unlike random search', async () => {
    const equal = (point: ParameterVector) => point.filter((value, i) => value === i % 4).length;
    const history = await searched(lakeTable, 60, equal);
    expect(Math.max(...history.map(({ score }) => score))).toBeGreaterThanOrEqual(14);
    expect(Math.max(...drawn(lakeTable, 64, equal).map(({ score }) => score))).toBeLessThanOrEqual(10);
  });
  it('proposes only new and distinct points in a group', async () => {
    const history = drawn(numbers(2), 12, bowl);
    const control = createGp();
    const randoms = Array.from({ length: 6 }, (_, i) => createGenerator(i));
    const group = await control.proposeGroup!({ parameters: numbers(2), history, warmup: 4 }, randoms);
    const keys = [...group, ...history.map(({ parameters }) => parameters)].map(String);
    expect(new Set(keys).size).toBe(keys.length);
  });
  it('spreads a group further than single proposals', async () => {
    const history = drawn(numbers(2), 12, bowl);
    const alone = createGp();
    const task = { parameters: numbers(2), history, warmup: 4 };
    const randoms = () => Array.from({ length: 4 }, (_, i) => createGenerator(i));
    const spread = (points: readonly ParameterVector[]) =>
      Math.min(
        ...points.flatMap((a, i) => points.slice(i + 1).map((b) => Math.hypot(a[0]! - b[0]!, a[1]! - b[1]!))),
      );
    const single = await Promise.all(randoms().map((random) => alone.propose(task, random)));
    const group = await alone.proposeGroup!(task, randoms());
    expect(spread(group)).toBeGreaterThan(2 * spread(single));
  });
  it('draws at random while all returns are equal', async () => {
    const history = drawn(numbers(3), 10, () => 7);
    const task = { parameters: numbers(3), history, warmup: 4 };
    const points = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((seed) => createGp().propose(task, createGenerator(seed))),
    );
    expect(new Set(points.map(String)).size).toBe(6);
  });
  it.each([
    ['one parameter', numbers(1), 9],
    ['64 parameters', numbers(64), 12],
    ['64 entries of a table', { ...lakeTable, count: 64 }, 20],
    ['a history of 400, thinned', numbers(3), 400],
    ['no history', numbers(3), 0],
    ['one evaluation', numbers(3), 1],
  ] as const)('makes a proposal within the range with %s', async (_, spec, evaluations) => {
    const history = drawn(spec, evaluations, bowl);
    const parameters = await createGp().propose({ parameters: spec, history, warmup: 0 }, createGenerator(1));
    expect(parameters).toHaveLength(spec.count);
    for (const value of parameters) expect(value >= spec.low && value <= spec.high).toBe(true);
  });
  it('proposes a new point if equal points have different returns', async () => {
    const points = drawn(numbers(2), 6, bowl);
    const history = [...points, ...points.map(({ parameters, score }) => ({ parameters, score: score - 3 }))];
    const task = { parameters: numbers(2), history, warmup: 4, noisy: true };
    const parameters = await createGp().propose(task, createGenerator(1));
    expect(history.map((one) => String(one.parameters))).not.toContain(String(parameters));
  });
  it('proposes the last free point of a grid', async () => {
    const spec: ParameterSpec = { count: 1, kind: 'float', low: 0, high: 1, decimals: 1 };
    const history = Array.from({ length: 10 }, (_, i) => ({ parameters: [i / 10], score: i }));
    expect(await createGp().propose({ parameters: spec, history, warmup: 4 }, createGenerator(1))).toEqual([
      1,
    ]);
  });
});
