import { describe, expect, it } from 'vitest';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import type { Evaluated } from '../../src/rollout/replay-buffer.js';
import { createOnePlusOneEs } from '../../src/search/local-search.js';
import { mean } from '../../src/statistics/descriptive.js';

const spec: ParameterSpec = { count: 5, kind: 'float', low: -6, high: 6, decimals: 3 };
const table: ParameterSpec = {
  count: 40,
  kind: 'integer',
  low: 0,
  high: 3,
  decimals: 0,
  choices: [0, 1, 2, 3],
};

async function children(
  parameters: ParameterSpec,
  history: readonly Evaluated[],
  warmup: number,
  count: number,
  sigma = 2,
): Promise<readonly ParameterVector[]> {
  const model = createOnePlusOneEs({ provider: 'one-plus-one-es', sigma });
  const points: ParameterVector[] = [];
  for (let seed = 0; seed < count; seed++) {
    points.push(await model.propose({ parameters, history, warmup }, createGenerator(seed)));
  }
  return points;
}

const zero = [0, 0, 0, 0, 0];
const start = { parameters: zero, score: 0 };
const failure = (i: number) => ({ parameters: [i / 10 + 0.1, 5, 5, 5, 5], score: -1 });
const success = (i: number) => ({ parameters: [i / 1000 + 0.001, 0, 0, 0, 0], score: i + 1 });
const spread = (points: readonly ParameterVector[]) => Math.sqrt(mean(points.flat().map((x) => x ** 2)));

describe('(1+1) evolution strategy', () => {
  it('takes steps of size sigma from the best of the warm-up', async () => {
    const warmup = [failure(0), start, failure(1)];
    expect(spread(await children(spec, warmup, 3, 300, 0.5))).toBeCloseTo(0.5, 1);
  });

  it('multiplies the step by 1.5 after a success and by 1.5^(-1/4) after a failure', async () => {
    const successes = [start, success(0), success(1)];
    expect(spread(await children(spec, successes, 1, 400, 0.4))).toBeCloseTo(0.4 * 1.5 ** 2, 1);
    const failures = [start, ...[0, 1, 2, 3, 4, 5, 6, 7].map(failure)];
    expect(spread(await children(spec, failures, 1, 400, 0.9))).toBeCloseTo(0.9 / 1.5 ** 2, 1);
    const fifth = [start, success(0), ...[0, 1, 2, 3].map(failure)];
    expect(spread(await children(spec, fifth, 1, 400, 0.4))).toBeCloseTo(0.4, 1);
  });

  it('always proposes a change, however often it fails', async () => {
    const failures = [start, ...Array.from({ length: 400 }, (_, i) => failure(i))];
    for (const point of await children(spec, failures, 1, 20)) expect(point).not.toEqual(zero);
  });

  it('gets close to the optimum of a quadratic, unlike random search', async () => {
    const model = createOnePlusOneEs({ provider: 'one-plus-one-es', sigma: 2 });
    const optimum = [1.5, -2, 0.5, 3, -4];
    const score = (point: ParameterVector) => -point.reduce((sum, x, i) => sum + (x - optimum[i]!) ** 2, 0);
    const history: Evaluated[] = [{ parameters: zero, score: score(zero) }];
    const random = createGenerator(3);
    let blind = Number.NEGATIVE_INFINITY;
    for (let seed = 0; seed < 200; seed++) {
      const task = { parameters: spec, history: [...history], warmup: 1 };
      const parameters = await model.propose(task, createGenerator(seed));
      history.push({ parameters, score: score(parameters) });
      blind = Math.max(blind, score(zero.map(() => random.uniform(-6, 6))));
    }
    const best = Math.max(...history.map((evaluated) => evaluated.score));
    expect(best).toBeGreaterThan(-0.05);
    expect(blind).toBeLessThan(-1);
  });

  it('adapts the number of table entries that change', async () => {
    const parent = Array.from({ length: 40 }, (_, i) => i % 4);
    const changed = async (history: readonly Evaluated[]) => {
      const best = history.reduce((a, b) => (b.score >= a.score ? b : a)).parameters;
      const points = await children(table, history, 1, 300);
      return points.map((point) => point.filter((value, i) => value !== best[i]).length);
    };
    const at = (i: number, score: number) => ({ parameters: parent.with(i, (i + 1) % 4), score });
    const first = { parameters: parent, score: 0 };
    // One for certain, and the others with their share of the rest of the step.
    expect(mean(await changed([first]))).toBeCloseTo(2, 0);
    const grown = await changed([first, at(0, 1), at(1, 2), at(2, 3), at(3, 4)]);
    expect(mean(grown)).toBeGreaterThan(8.5);
    expect(mean(grown)).toBeLessThan(11.5);
    const shrunk = await changed([first, ...Array.from({ length: 30 }, (_, i) => at(i, -1))]);
    expect(new Set(shrunk)).toEqual(new Set([1]));
  });
});
