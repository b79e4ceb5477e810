/** Tests of all baselines. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { BaselineConfig } from '../../src/config/baselines.js';
import type { ParameterSpec, ParameterVector } from '../../src/policies/policy.js';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { formatParameters } from '../../src/prompting/notation/grammar.js';
import type { Baseline, SearchTask } from '../../src/proposers/baseline.js';
import { createBaseline } from '../../src/proposers/create-baseline.js';
import type { ScoredParameters } from '../../src/rollout/replay-buffer.js';
import { lakeTable } from '../support/records.js';

const configs: readonly BaselineConfig[] = [
  { provider: 'random' },
  { provider: 'hill-climb', sigma: 1 },
  { provider: 'cma-es', sigma: 2 },
  { provider: 'cma-es', sigma: 0.5, population: 4 },
  { provider: 'mix' },
  { provider: 'gp' },
];

const linear: ParameterSpec = { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 };

async function propose(model: Baseline, task: SearchTask, seed: number): Promise<ParameterVector> {
  const parameters = await model.propose(task, createGenerator(seed));
  const text = formatParameters(parameters, task.parameters);
  expect(parseParameters(text, task.parameters)).toEqual({ ok: true, value: parameters });
  return parameters;
}

const score = (parameters: ParameterVector) =>
  -parameters.reduce((sum, value, i) => sum + (value - (i % 3)) ** 2, 0);

/** Makes `proposals` proposals after five random points; `modelAt(i)` is the model that makes proposal i. */
async function search(parameters: ParameterSpec, proposals: number, modelAt: (i: number) => Baseline) {
  const random = createGenerator(1);
  const history: ScoredParameters[] = Array.from({ length: 5 }, () => {
    const start = Array.from({ length: parameters.count }, () => random.integers(0, 4));
    return { parameters: start, score: score(start) };
  });
  for (let i = 0; i < proposals; i++) {
    const point = await propose(modelAt(i), { parameters, history, warmup: 5 }, 100 + i);
    history.push({ parameters: point, score: score(point) });
  }
  return history;
}

describe.each(configs)('$provider', (config) => {
  /** A Gaussian process takes its time, and fits every third proposal. */
  const few = config.provider === 'gp';
  it.each([linear, lakeTable])('continues after a resume as if uninterrupted: %o', async (spec) => {
    const one = createBaseline(config);
    const uninterrupted = await search(spec, few ? 16 : 60, () => one);
    expect(await search(spec, few ? 16 : 60, () => createBaseline(config))).toEqual(uninterrupted);
  });

  it('keeps two searches with a shared instance separate', async () => {
    const shared = createBaseline(config);
    const [a, b] = await Promise.all([
      search(linear, few ? 14 : 40, () => shared),
      search(lakeTable, few ? 14 : 40, () => shared),
    ]);
    expect(a).toEqual(await search(linear, few ? 14 : 40, () => createBaseline(config)));
    expect(b).toEqual(await search(lakeTable, few ? 14 : 40, () => createBaseline(config)));
  });

  it('identifies its history by content, not by object identity', async () => {
    const model = createBaseline(config);
    const copying: Baseline = {
      propose: (task, random) =>
        model.propose({ ...task, history: task.history.map((evaluated) => ({ ...evaluated })) }, random),
    };
    expect(await search(linear, few ? 14 : 40, () => copying)).toEqual(
      await search(linear, few ? 14 : 40, () => createBaseline(config)),
    );
  });

  it('proposes allowed values for any spec', async () => {
    const bounded = fc
      .record({
        count: fc.integer({ min: 1, max: 12 }),
        low: fc.integer({ min: -50, max: 50 }),
        width: fc.integer({ min: 1, max: 40 }),
        decimals: fc.integer({ min: 0, max: 3 }),
        choices: fc.option(fc.uniqueArray(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 5 })),
        seed: fc.nat(),
      })
      .map(({ count, low, width, decimals, choices, seed }) => ({
        seed,
        spec: (choices === null
          ? { count, kind: 'float', low: low / 7, high: (low + width) / 7, decimals: decimals + 1 }
          : {
              count,
              kind: 'integer',
              low: Math.min(...choices),
              high: Math.max(...choices),
              decimals: 0,
              choices,
            }) satisfies ParameterSpec as ParameterSpec,
      }));
    await fc.assert(
      fc.asyncProperty(bounded, async ({ seed, spec }) => {
        const model = createBaseline(config);
        const history: ScoredParameters[] = [];
        for (let i = 0; i < 15; i++) {
          const point = await propose(model, { parameters: spec, history, warmup: 0 }, seed % 2 ** 20);
          history.push({ parameters: point, score: score(point) });
        }
      }),
      { numRuns: few ? 10 : 40 },
    );
  });

  it('proposes eight different points of a grid of nine', async () => {
    const small: ParameterSpec = {
      count: 2,
      kind: 'integer',
      low: 0,
      high: 2,
      decimals: 0,
      choices: [0, 1, 2],
    };
    const model = createBaseline(config);
    const history: ScoredParameters[] = [];
    for (let i = 0; i < 8; i++) {
      const point = await propose(model, { parameters: small, history, warmup: 0 }, i);
      history.push({ parameters: point, score: score(point) });
    }
    expect(new Set(history.map(({ parameters }) => parameters.join())).size).toBe(8);
  });

  it('still proposes a point when everything has been evaluated', async () => {
    const spec: ParameterSpec = { count: 1, kind: 'integer', low: 0, high: 1, decimals: 0, choices: [0, 1] };
    const history = [0, 1].map((value) => ({ parameters: [value], score: value }));
    expect(await propose(createBaseline(config), { parameters: spec, history, warmup: 2 }, 1)).toHaveLength(
      1,
    );
  });

  it('does not modify its input', async () => {
    const history = Object.freeze([
      Object.freeze({ parameters: Object.freeze(Array<number>(10).fill(1)), score: 1 }),
      Object.freeze({ parameters: Object.freeze(Array<number>(10).fill(2)), score: 0 }),
    ]);
    const task = Object.freeze({ parameters: Object.freeze(linear), history, warmup: 1 });
    expect(await propose(createBaseline(config), task, 4)).toHaveLength(10);
  });
});
