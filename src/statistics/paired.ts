/** Compares two methods over paired repeats; the two runs of a pair share a seed. */
import {
  bootstrapIqm95,
  bootstrapIqmDifference95,
  bootstrapMean95,
  clipped,
  differenceRange,
  type Interval,
  unbounded,
} from './bootstrap.js';
import { interquartileMean, largest, mean, sum } from './descriptive.js';
import { shareInterval95 } from './distributions.js';
import { fewestForVerdict, type Judged, pairedTest } from './tests.js';

/** Statistics of one method. Intervals are 95%; null for a single value. */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly meanInterval: Interval | null;
  readonly iqm: number;
  readonly iqmInterval: Interval | null;
}

/** The difference between two methods, first minus second. */
export interface PairedDifference {
  readonly pairs: number;
  /** Mean of the differences. */
  readonly difference: number;
  readonly interval: Interval | null;
  readonly iqmDifference: number;
  readonly iqmInterval: Interval | null;
  /** Share of pairs in which the first method's value is higher; ties count half. */
  readonly winRate: number;
  readonly winInterval: Interval;
  /** Two-sided p-value of Student's t test on the differences; null if there are too few pairs for a verdict. */
  readonly p: number | null;
}

/** A difference with its verdict, corrected for all differences tested together. */
export type PairedComparison = PairedDifference & Judged;

/** Summarises values; undefined if there are none. @param within range of possible values; clips the intervals */
export function summarize(values: readonly number[], within: Interval = unbounded): Summary | undefined {
  if (values.length === 0) return undefined;
  const enough = values.length > 1;
  const centre = mean(values);
  return {
    count: values.length,
    mean: centre,
    meanInterval: enough ? clipped(bootstrapMean95(values), within, centre) : null,
    iqm: interquartileMean(values),
    // Percentiles of resamples can't exceed the range of the values.
    iqmInterval: enough ? bootstrapIqm95(values) : null,
  };
}

/** A pair that differs by less than this share of the largest value is a tie: sums of returns round. */
const roundingShare = 1e-10;

/**
 * Compares `a` with `b`, where a[i] and b[i] form a pair; undefined if there are no pairs.
 * @param a values, with null for a missing value; pairs with a missing value are skipped
 * @param within range of possible values; intervals are clipped to the possible differences
 * @throws RangeError if `a` and `b` differ in length
 */
export function comparePairs(
  a: readonly (number | null)[],
  b: readonly (number | null)[],
  within: Interval = unbounded,
): PairedDifference | undefined {
  if (a.length !== b.length) throw new RangeError(`can't pair ${a.length} values with ${b.length}`);
  const both = a.map((value, i) => [value, b[i]!] as const).filter((pair) => !pair.includes(null));
  const pairs = both.length;
  if (pairs === 0) return undefined;
  const second = both.map(([, value]) => value!);
  const rounding = roundingShare * largest(both.flat().map((value) => Math.abs(value!)));
  const first = both.map(([value], i) => (Math.abs(value! - second[i]!) <= rounding ? second[i]! : value!));
  const differences = first.map((value, i) => value - second[i]!);
  const difference = mean(differences);
  const wins = sum(differences.map((difference) => (Math.sign(difference) + 1) / 2));
  return {
    pairs,
    difference,
    interval: pairs > 1 ? clipped(bootstrapMean95(differences), differenceRange(within), difference) : null,
    iqmDifference: interquartileMean(first) - interquartileMean(second),
    iqmInterval: pairs > 1 ? bootstrapIqmDifference95(first, second) : null,
    winRate: wins / pairs,
    winInterval: shareInterval95(wins, pairs),
    p: pairs < fewestForVerdict ? null : pairedTest(differences)!.p,
  };
}
