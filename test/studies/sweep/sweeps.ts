/** Results of sweeps, without playing anything. */
import { sumUsage } from '../../../src/runs/usage.js';
import { summarize } from '../../../src/statistics/paired.js';
import { effectsOf } from '../../../src/studies/sweep/effects.js';
import type { SettingFigures } from '../../../src/studies/sweep/ranking.js';
import type { SweepResult } from '../../../src/studies/sweep/sweep-result.js';

export const figures = (
  name: string,
  values: SettingFigures['values'],
  returns: readonly (number | null)[],
): SettingFigures => {
  const known = returns.flatMap((value) => value ?? []);
  return {
    name,
    values,
    returns,
    runs: known.length,
    over: known.length,
    failed: 0,
    observed: null,
    baseline: null,
    comparedWith: [],
    usage: sumUsage([]),
    confirmed: summarize(known) ?? null,
  };
};

/** A grid of `rate` × `size`; `of` gives the return of each run, null if it isn't complete. */
export function gridResult(
  of: (rate: number, size: number, seed: number) => number | null,
  seeds: readonly number[] = [1, 2, 3, 4, 5, 6],
): SweepResult {
  const [rates, sizes] = [
    [0.1, 0.2, 10],
    [8, 16],
  ] as const;
  const settings = rates.flatMap((rate) =>
    sizes.map((size) =>
      figures(
        `rate-${rate}_size-${size}`,
        { rate: String(rate), size: String(size) },
        seeds.map((seed) => of(rate, size, seed)),
      ),
    ),
  );
  return {
    version: 1,
    kind: 'sweep',
    policyloop: '0.1.0',
    date: '2026-01-01T00:00:00.000Z',
    status: settings.every(({ runs }) => runs === seeds.length) ? 'completed' : 'incomplete',
    name: 'study',
    method: 'grid',
    seeds,
    keys: [
      { key: 'rate', kind: 'list' },
      { key: 'size', kind: 'list' },
    ],
    tasks: [
      {
        environment: 'CartPole-v1',
        settings,
        best: null,
        baselines: [],
        effects: effectsOf([{ key: 'rate' }, { key: 'size' }], settings, [-1000, 1000]),
      },
    ],
    usage: sumUsage([]),
    activeMs: 1,
    failures: [],
  };
}

/** Settings drawn from a list, a range and, on a logarithmic scale, another range, with long names of keys. */
export function drawnResult(): SweepResult {
  const [list, rate, share] = ['model.temperature', 'a.very.long.key.learning_rate', 'policy.share'];
  const values = Array.from({ length: 16 }, (_, i) => ({
    [list]: String([0.2, 0.7, 1][i % 3]),
    [rate]: String(10 ** (-4 + ((i * 7) % 16) / 5)),
    [share]: String(((i * 5) % 16) / 16),
  }));
  const settings = values.map((own, i) => figures(`drawn-${i}`, own, [10 * Number(own[share]) + (i % 4)]));
  const keys = [
    { key: list, values: { kind: 'list', items: ['0.2', '0.7', '1'] } },
    { key: rate, values: { kind: 'loguniform', low: 1e-4, high: 0.1 } },
    { key: share, values: { kind: 'uniform', low: 0, high: 1 } },
  ] as const;
  return {
    ...gridResult(() => null, [1]),
    status: 'completed',
    method: 'random',
    tasks: [{ environment: 'CartPole-v1', settings, best: null, baselines: [], effects: null }],
    keys: keys.map(({ key, values: { kind } }) => ({ key, kind })),
  };
}
