/** Compares two methods over paired repeats; the two runs of a pair share a seed. */
import {
  clip,
  differenceRange,
  hiddenPairRange,
  type Interval,
  interval95,
  meanInterval95,
  percentileInterval95,
  realLine,
} from './bootstrap.js';
import { interquartileMean, largest, mean, sum } from './descriptive.js';
import { proportionInterval95 } from './distributions.js';
import { minForVerdict, signFlipTest } from './tests.js';

/** Statistics of one method. Intervals are 95%; null for too few values (see `interval95`). */
export interface SampleSummary {
  readonly count: number;
  readonly mean: number;
  readonly meanInterval: Interval | null;
  readonly iqm: number;
  readonly iqmInterval: Interval | null;
}

/** The difference between the means of two methods, first minus second. */
export interface PairedDifference {
  readonly pairs: number;
  /** Mean of the differences. */
  readonly difference: number;
  readonly interval: Interval | null;
  /** Share of pairs in which the first method's value is higher; ties count half. */
  readonly winRate: number;
  readonly winInterval: Interval;
  /** Two-sided p-value (`signFlipTest`); null if there are too few pairs for a verdict. */
  readonly p: number | null;
}

/** Summarises values; undefined if there are none. @param range possible values; clips the mean's interval */
export function summarize(values: readonly number[], range: Interval = realLine): SampleSummary | undefined {
  const meanSummary = summarizeMean(values, range);
  if (meanSummary === undefined) return undefined;
  // This interval needs no clipping: percentiles of resamples stay within the range of the values.
  return { ...meanSummary, iqm: interquartileMean(values), iqmInterval: percentileInterval95(values, 'iqm') };
}

/** Like `summarize`, without the interquartile mean, whose interval takes most of the time. */
export function summarizeMean(
  values: readonly number[],
  range: Interval = realLine,
): Pick<SampleSummary, 'count' | 'mean' | 'meanInterval'> | undefined {
  if (values.length === 0) return undefined;
  return { count: values.length, mean: mean(values), meanInterval: meanInterval95(values, range) };
}

/** A difference of at most this share of the largest absolute value counts as a tie, because of rounding errors. */
const roundingShare = 1e-10;

/**
 * Compares `a` with `b`, where a[i] and b[i] form a pair; undefined if there are no pairs.
 * @param a,b values, with null for a missing value; pairs with a missing value are skipped
 * @param range interval of possible values; clips the interval of the mean difference
 * @throws RangeError if `a` and `b` differ in length
 */
export function comparePairs(
  a: readonly (number | null)[],
  b: readonly (number | null)[],
  range: Interval = realLine,
): PairedDifference | undefined {
  const valuePairs = pairsOf(a, b);
  const pairCount = valuePairs.length;
  if (pairCount === 0) return undefined;
  const differences = valuePairs.map(([value, other]) => value - other);
  const difference = mean(differences);
  const [first, second] = [valuePairs.map(([value]) => value), valuePairs.map(([, other]) => other)];
  const hidden = hiddenPairRange(first, second, range);
  const wins = sum(differences.map((difference) => (Math.sign(difference) + 1) / 2));
  return {
    pairs: pairCount,
    difference,
    interval: clip(interval95([{ values: differences, hidden }]), differenceRange(range), difference),
    winRate: wins / pairCount,
    winInterval: proportionInterval95(wins, pairCount),
    p: pairCount < minForVerdict ? null : signFlipTest(differences),
  };
}

type Pairs = readonly (readonly [number, number])[];

/** Pairs without missing values. Values that differ only by rounding errors become equal. */
function pairsOf(a: readonly (number | null)[], b: readonly (number | null)[]): Pairs {
  if (a.length !== b.length) throw new RangeError(`can't pair ${a.length} values with ${b.length}`);
  const pairs = a.flatMap((value, i): Pairs => {
    const other = b[i]!;
    return value === null || other === null ? [] : [[value, other]];
  });
  const tolerance = roundingShare * largest([0, ...pairs.flat().map(Math.abs)]);
  return pairs.map(([value, other]) => [Math.abs(value - other) <= tolerance ? other : value, other]);
}
