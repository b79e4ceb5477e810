/** Estimates the effects of keys on the confirmed return. */
import { cholesky, inverseOfProduct, invertTriangle } from '../../search/linear-algebra.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { mean, sum } from '../../statistics/descriptive.js';
import { studentQuantile975, studentTwoSided } from '../../statistics/distributions.js';
import { comparePairs, type PairedDifference, type Summary, summarize } from '../../statistics/paired.js';
import { fewestForVerdict, type Judged, verdicts } from '../../statistics/tests.js';
import type { Setting, SweptKey } from './settings.js';

interface Coefficient {
  readonly value: number;
  /** 95% interval by Student's t. */
  readonly interval: Interval;
  /** Two-sided p-value. */
  readonly p: number;
}

/**
 * Fits y ≈ X·b by least squares, assuming homoscedastic errors.
 * @param rows rows of X, with one number per coefficient
 * @returns undefined if the coefficients aren't determined or no degrees of freedom remain
 */
export function regression(
  rows: readonly (readonly number[])[],
  y: readonly number[],
): { readonly coefficients: readonly Coefficient[]; readonly degrees: number } | undefined {
  const n = rows[0]?.length ?? 0;
  const degrees = rows.length - n;
  if (n === 0 || degrees < 1) return undefined;
  const products = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) products[i * n + j] = sum(rows.map((row) => row[i]! * row[j]!));
  const factor = cholesky(products, n);
  // A pivot this small is a rounding error: its column depends linearly on others.
  const isSingular =
    factor === undefined || rows[0]!.some((_, i) => factor[i * n + i]! ** 2 < 1e-9 * products[i * n + i]!);
  if (isSingular) return undefined;
  const inverse = inverseOfProduct(invertTriangle(factor, n), n);
  const at = (i: number, j: number) => inverse[Math.max(i, j) * n + Math.min(i, j)]!;
  const moments = rows[0]!.map((_, i) => sum(rows.map((row, r) => row[i]! * y[r]!)));
  const values = moments.map((_, i) => sum(moments.map((moment, j) => at(i, j) * moment)));
  const residuals = rows.map((row, r) => y[r]! - sum(row.map((x, i) => x * values[i]!)));
  const spread = Math.sqrt(sum(residuals.map((residual) => residual ** 2)) / degrees);
  return {
    degrees,
    coefficients: values.map((value, i) => {
      const error = spread * Math.sqrt(at(i, i));
      const half = studentQuantile975(degrees) * error;
      const p = error > 0 ? studentTwoSided(value / error, degrees) : value === 0 ? 1 : 0;
      return { value, interval: [value - half, value + half] as const, p };
    }),
  };
}

/** A setting with its confirmed return for each seed; null if a seed has none. */
export interface Measured extends Pick<Setting, 'name' | 'values'> {
  readonly confirmed: readonly (number | null)[];
}

/** The mean return of all settings that share a value of a key. */
export interface LevelMean {
  readonly key: string;
  readonly value: string;
  /** The mean over settings, summarised over seeds. */
  readonly confirmed: Summary;
}

/** The effect of a key's value compared with its first value or, for a range, of the high end with the low end. */
export interface Effect extends Judged {
  readonly key: string;
  readonly of: string;
  readonly against: string;
  /** In units of the return; `interval` is 95%. */
  readonly difference: number;
  readonly interval: Interval | null;
  readonly p: number | null;
  /** Number of seeds or, in a regression, of settings. */
  readonly count: number;
}

export interface Effects {
  /** `seeds`: each seed is an observation; `settings`: a regression over drawn settings. */
  readonly over: 'seeds' | 'settings';
  /** Number of observations. */
  readonly count: number;
  readonly levels: readonly LevelMean[];
  readonly main: readonly Effect[];
}

/**
 * Effects in a grid whose settings all use the same seeds, averaged over the other keys and paired by seed.
 * @param measured every combination of the values
 * @param range possible range of a return
 */
export function gridEffects(
  keys: readonly SweptKey[],
  measured: readonly Measured[],
  range: Interval,
): Effects | undefined {
  const seeds = wholeSeeds(measured);
  if (seeds.length === 0) return undefined;
  /** For each seed, the mean over all settings with these values. */
  const bySeed = (values: Readonly<Record<string, string>>) => {
    const fitting = measured.filter((one) =>
      Object.entries(values).every(([key, value]) => one.values[key] === value),
    );
    return seeds.map((seed) => mean(fitting.map(({ confirmed }) => confirmed[seed]!)));
  };
  const varying = keys.flatMap(({ key, values }) => {
    const all = values.kind === 'list' ? [...new Set(values.items)] : [];
    const items = all.filter((item) => measured.some((one) => one.values[key] === item));
    return items.length > 1 ? [{ key, items }] : [];
  });
  const main = varying.flatMap(({ key, items: [against, ...others] }) =>
    others.map((of) => {
      const found = comparePairs(bySeed({ [key]: of }), bySeed({ [key]: against! }), range)!;
      return { key, of, against: against!, ...differenceOf(found) };
    }),
  );
  return {
    over: 'seeds',
    count: seeds.length,
    levels: varying.flatMap(({ key, items }) =>
      items.map((value) => ({ key, value, confirmed: summarize(bySeed({ [key]: value }), range)! })),
    ),
    main: verdicts(main),
  };
}

/** Compares each listed setting with the first one, paired by seed. */
export function listEffects(measured: readonly Measured[], range: Interval): Effects | undefined {
  const seeds = wholeSeeds(measured);
  const [first, ...others] = measured;
  if (first === undefined || seeds.length === 0) return undefined;
  const of = ({ confirmed }: Measured) => seeds.map((seed) => confirmed[seed]!);
  const main = others.map((other) => ({
    key: 'setting',
    of: other.name,
    against: first.name,
    ...differenceOf(comparePairs(of(other), of(first), range)!),
  }));
  return { over: 'seeds', count: seeds.length, levels: [], main: verdicts(main) };
}

/**
 * Estimates effects from drawn settings by least squares on each setting's mean. Compares each value in a list with the
 * first one that was measured, and the high end of a range with its low end.
 * @returns undefined if the complete settings are too few or too similar to determine the effects
 */
export function drawnEffects(keys: readonly SweptKey[], measured: readonly Measured[]): Effects | undefined {
  const whole = measured.flatMap(({ confirmed, values }) => {
    const returns = confirmed.flatMap((value) => value ?? []);
    return returns.length > 0 && returns.length === confirmed.length ? [{ values, mean: mean(returns) }] : [];
  });
  const columns = keys.flatMap(({ key, values }) => {
    if (values.kind !== 'list') {
      const share = scaleOf(values);
      const ends = { of: String(values.high), against: String(values.low) };
      return [{ key, ...ends, at: (value: string) => share(Number(value)) }];
    }
    const seen = [...new Set(values.items)].filter((item) => whole.some((one) => one.values[key] === item));
    return seen
      .slice(1)
      .map((of) => ({ key, of, against: seen[0]!, at: (value: string) => (value === of ? 1 : 0) }));
  });
  const rows = whole.map(({ values }) => [1, ...columns.map(({ key, at }) => at(values[key]!))]);
  const fit = regression(
    rows,
    whole.map((one) => one.mean),
  );
  if (fit === undefined) return undefined;
  const main = columns.map(({ key, of, against }, i) => {
    const { value: difference, interval, p } = fit.coefficients[i + 1]!;
    const own = { key, of, against, difference, interval, count: whole.length };
    return { ...own, p: fit.degrees < fewestForVerdict - 1 ? null : p };
  });
  return { over: 'settings', count: whole.length, levels: [], main: verdicts(main) };
}

function scaleOf({
  kind,
  low,
  high,
}: {
  readonly kind: string;
  readonly low: number;
  readonly high: number;
}) {
  if (kind === 'uniform') return (value: number) => (value - low) / (high - low);
  return (value: number) => Math.log(value / low) / Math.log(high / low);
}

/** Indices of the seeds for which every setting has a confirmed return. */
function wholeSeeds(measured: readonly Measured[]): readonly number[] {
  const [first] = measured;
  return (first?.confirmed ?? []).flatMap((_, i) =>
    measured.every(({ confirmed }) => typeof confirmed[i] === 'number') ? [i] : [],
  );
}

const differenceOf = ({ difference, interval, p, pairs: count }: PairedDifference) => ({
  difference,
  interval,
  p,
  count,
});
