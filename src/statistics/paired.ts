/** Two ways of doing something, compared over paired repeats: the same seed meets both. */
import { bootstrapIqm95, bootstrapIqmDifference95, bootstrapMean95, type Interval } from './bootstrap.js';
import { interquartileMean, mean } from './descriptive.js';
import { shareInterval95 } from './distributions.js';

/** Pairs below which no interval is trusted: two-sided, even five wins of five happen to equals in 6 % of cases. */
export const fewestPairs = 6;

/** One way of doing it. Intervals are 95 %; null for a single value. */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly meanInterval: Interval | null;
  readonly iqm: number;
  readonly iqmInterval: Interval | null;
}

export type Verdict = 'higher' | 'lower' | 'no-evidence' | 'too-few';

/** What changed from the second to the first of two ways. */
export interface PairedComparison {
  readonly pairs: number;
  /** Mean of the differences. */
  readonly difference: number;
  readonly interval: Interval | null;
  readonly iqmDifference: number;
  readonly iqmInterval: Interval | null;
  /** Share of pairs in which the first is higher, ties half. */
  readonly winRate: number;
  readonly winInterval: Interval;
  /** What the interval of the mean difference says: only one that leaves out 0 is evidence. */
  readonly verdict: Verdict;
}

/**
 * undefined for no values.
 * @param within what a mean can be: intervals end there
 */
export function summarize(
  values: readonly number[],
  within: Interval = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
): Summary | undefined {
  if (values.length === 0) return undefined;
  const enough = values.length > 1;
  const cut = ([low, high]: Interval): Interval => [Math.max(low, within[0]), Math.min(high, within[1])];
  return {
    count: values.length,
    mean: mean(values),
    meanInterval: enough ? cut(bootstrapMean95(values)) : null,
    iqm: interquartileMean(values),
    iqmInterval: enough ? cut(bootstrapIqm95(values)) : null,
  };
}

/**
 * `a` against `b`, where a[i] and b[i] belong together; undefined for no pairs.
 * @throws RangeError where they differ in length
 */
export function comparePairs(a: readonly number[], b: readonly number[]): PairedComparison | undefined {
  if (a.length !== b.length) throw new RangeError(`${a.length} values against ${b.length}`);
  const pairs = a.length;
  if (pairs === 0) return undefined;
  const differences = a.map((value, i) => value - b[i]!);
  const wins = differences.reduce((sum, d) => sum + (d > 0 ? 1 : d === 0 ? 0.5 : 0), 0);
  const interval = pairs > 1 ? bootstrapMean95(differences) : null;
  return {
    pairs,
    difference: mean(differences),
    interval,
    iqmDifference: interquartileMean(a) - interquartileMean(b),
    iqmInterval: pairs > 1 ? bootstrapIqmDifference95(a, b) : null,
    winRate: wins / pairs,
    winInterval: shareInterval95(wins, pairs),
    verdict: verdictOf(pairs, interval),
  };
}

function verdictOf(pairs: number, interval: Interval | null): Verdict {
  if (interval === null || pairs < fewestPairs) return 'too-few';
  if (interval[0] > 0) return 'higher';
  return interval[1] < 0 ? 'lower' : 'no-evidence';
}
