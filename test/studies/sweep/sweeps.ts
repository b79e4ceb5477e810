/** Results of sweeps, without playing anything. */
import { addUsage } from '../../../src/experiment/budget/usage.js';
import { summarize } from '../../../src/statistics/paired.js';
import { gridEffects } from '../../../src/studies/sweep/effects.js';
import type { SettingFigures, SweepResult } from '../../../src/studies/sweep/sweep-result.js';

export const figures = (
  name: string,
  values: SettingFigures['values'],
  returns: readonly (number | null)[],
): SettingFigures => {
  const known = returns.flatMap((value) => value ?? []);
  return {
    ...{ name, values, returns, runs: known.length, observed: null, dropped: null, usage: addUsage([]) },
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
  const list = (key: string, items: readonly number[]) =>
    ({ key, values: { kind: 'list', items: items.map(String) } }) as const;
  const measured = settings.map(({ name, returns, values }) => ({ name, values, confirmed: returns }));
  return {
    ...{ version: 1, kind: 'sweep', policyloop: '0.1.0', date: '2026-01-01T00:00:00.000Z' },
    status: settings.every(({ runs }) => runs === seeds.length) ? 'completed' : 'incomplete',
    ...{ name: 'study', environment: 'CartPole-v1', method: 'grid', seeds, settings, best: null },
    keys: [
      { key: 'rate', kind: 'list' },
      { key: 'size', kind: 'list' },
    ],
    effects: gridEffects([list('rate', rates), list('size', sizes)], measured, [-1000, 1000]) ?? null,
    ...{ usage: addUsage([]), activeMs: 1, failures: [] },
  };
}
