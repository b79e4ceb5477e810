/**
 * 95% intervals of samples. The methods were chosen by their coverage in simulations (docs/log/archive.md), where plain
 * percentile intervals of means cover 72 to 94%. docs/explanation/verdicts.md shows the coverage for our tasks.
 */
import { createGenerator } from '../base/random/generator.js';
import {
  interquartileMean,
  largest,
  mean,
  median,
  quantile,
  smallest,
  sortAscending,
  standardDeviation,
  sum,
} from './descriptive.js';
import { normalTail, studentQuantile975 } from './distributions.js';

export type Interval = readonly [number, number];

export const realLine: Interval = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** Clips an interval to the possible range, but never excludes `center`; null stays null. */
export function clip<I extends Interval | null>(interval: I, [least, most]: Interval, center: number) {
  if (interval === null) return interval;
  const [low, high] = interval;
  return [Math.max(low, Math.min(least, center)), Math.min(high, Math.max(most, center))] as const;
}

/** Range of possible differences between two values in the given range. */
export const differenceRange = ([least, most]: Interval): Interval => [least - most, most - least];

/**
 * Lowest and highest value that may be missing from a sample by chance. `nothingHidden` ([∞, −∞]): none is missing;
 * `realLine`: any value may be missing.
 */
type HiddenRange = Interval;
const nothingHidden: HiddenRange = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/** Minimum sample size if many values are equal. If a fifth of all values differ, 4% of such samples miss them all. */
export const minSizeIfTied = 14;

/**
 * If at least a fifth of the values are at a bound (within 1% of the range's width), other values may be at the other
 * bound: if six runs solve a task, one in ten may still fail. If a bound is unknown, values may be hidden if there
 * are fewer than 14 values and at least half of them are equal.
 */
export function hiddenRange(values: readonly number[], [least, most]: Interval): HiddenRange {
  const shareAt = (bound: number, tolerance: number) =>
    values.filter((value) => Math.abs(value - bound) <= tolerance).length / values.length;
  if (Number.isFinite(most - least)) {
    const hasManyAt = (bound: number) => shareAt(bound, 0.01 * (most - least)) >= 0.2;
    return [hasManyAt(most) ? least : nothingHidden[0], hasManyAt(least) ? most : nothingHidden[1]];
  }
  const isTied = values.some((value) => shareAt(value, 1e-10 * Math.abs(value)) >= 0.5);
  return isTied && values.length < minSizeIfTied ? realLine : nothingHidden;
}

/** Bounds on a pair's difference if the value on one side is hidden and the other is average. */
export function hiddenPairRange(a: readonly number[], b: readonly number[], range: Interval): HiddenRange {
  const [hiddenInA, hiddenInB] = [hiddenRange(a, range), hiddenRange(b, range)];
  const ends = [0, 1].map((side) => [hiddenInA[side]! - mean(b), mean(a) - hiddenInB[1 - side]!]);
  return [smallest(ends[0]!), largest(ends[1]!)];
}

/** Independent values of runs, pairs or episodes. `weight` multiplies their mean (default 1). */
export interface Stratum {
  readonly values: readonly number[];
  readonly weight?: number;
  readonly hidden?: HiddenRange;
}

/** Minimum number of values in a stratum: two can't show how much values vary. */
const minForInterval = 3;

const resampleCount = 2000;

/** With fewer values, too many resamples are nearly constant, which makes their t values arbitrary. */
const minToStudentize = 10;

/** A resample counts as nearly constant if its standard error is at most this share of the sample's. */
const minSpread = 0.1;

/**
 * The 95% interval of a sum of weighted means: of a single mean, a difference of two groups, or a mean over tasks.
 * It resamples the values within each stratum, never the strata. It is null without strata, or if a stratum has fewer
 * than three values or may hide any value (`realLine`).
 *
 * The interval extends q standard errors to both sides. For one stratum of ten or more values, q is the 0.95 quantile
 * of |t| over resamples (the symmetric studentised bootstrap, Hall 1988). Otherwise, or if at least one in twenty
 * resamples is nearly constant (because most values are equal), q comes from Student's t with the degrees of freedom of
 * Welch and Satterthwaite. If values may be hidden, the Bayesian bootstrap (Rubin 1981) of the values plus one at the
 * bound widens it; for shares, that is the exact interval of Clopper and Pearson. Deterministic.
 * @param by `student`: always Student's t, for the many episodes of a policy
 */
export function interval95(
  strata: readonly Stratum[],
  by: 'bootstrap' | 'student' = 'bootstrap',
): Interval | null {
  const isUnknown = ({ hidden = nothingHidden, values }: Stratum) =>
    values.length < minForInterval || hidden[0] === realLine[0];
  if (strata.length === 0 || strata.some(isUnknown)) return null;
  return memoize(JSON.stringify([strata, by]), () => intervalOf(strata, by));
}

/** 95% interval of the mean of values, clipped to their possible range. @param by as for `interval95` */
export const meanInterval95 = (values: readonly number[], range: Interval, by?: 'student'): Interval | null =>
  clip(interval95([{ values, hidden: hiddenRange(values, range) }], by), range, mean(values));

function intervalOf(strata: readonly Stratum[], by: 'bootstrap' | 'student'): Interval {
  const center = sum(strata.map(({ values, weight = 1 }) => weight * mean(values)));
  const half = halfWidth(strata, by);
  const [low, high] = [center - half, center + half];
  const hasHidden = (side: 0 | 1) => strata.some((one) => hiddenAt(one, side).length > 0);
  const endAt = (side: 0 | 1) => quantile(sortAscending(bayesianDraws(strata, side)), [0.025, 0.975][side]!);
  return [hasHidden(0) ? Math.min(low, endAt(0)) : low, hasHidden(1) ? Math.max(high, endAt(1)) : high];
}

/** The hidden value, if any, that would lower the sum most (0) or raise it most (1). */
const hiddenAt = ({ hidden = nothingHidden, weight = 1 }: Stratum, side: 0 | 1): readonly number[] =>
  [hidden[weight > 0 ? side : 1 - side]!].filter(Number.isFinite);

/** Returns draws of the sum from the Bayesian bootstrap. */
function bayesianDraws(strata: readonly Stratum[], side: 0 | 1): number[] {
  const totals = new Array<number>(resampleCount).fill(0);
  for (const [index, stratum] of strata.entries()) {
    const values = [...stratum.values, ...hiddenAt(stratum, side)];
    const shares = dirichletWeights(index, values.length);
    for (let resample = 0; resample < resampleCount; resample++)
      for (const [i, value] of values.entries())
        totals[resample]! += (stratum.weight ?? 1) * shares[resample * values.length + i]! * value;
  }
  return totals;
}

/** Caches shares by stratum and sample size. The shares of each resample are drawn uniformly and sum to 1. */
const sharesBySize = new Map<string, Float64Array>();

function dirichletWeights(index: number, count: number): Float64Array {
  const cachedShares = sharesBySize.get(`${index} ${count}`);
  if (cachedShares !== undefined) return cachedShares;
  const random = createGenerator(index);
  const shares = Float64Array.from({ length: resampleCount * count }, () => -Math.log(1 - random.random()));
  for (let from = 0; from < shares.length; from += count) {
    const resample = shares.subarray(from, from + count);
    const total = resample.reduce((all, share) => all + share, 0);
    for (let i = 0; i < count; i++) resample[i]! /= total;
  }
  sharesBySize.set(`${index} ${count}`, shares);
  return shares;
}

function halfWidth(strata: readonly Stratum[], by: 'bootstrap' | 'student'): number {
  const parts = strata.map(({ values, weight = 1 }) => ({
    ...{ values, count: values.length, deviation: Math.abs(weight) * standardDeviation(values) },
    variance: (weight * standardError(values)) ** 2,
  }));
  // Sums of equal values have rounding errors, which must not count as spread.
  const scale = largest(strata.flatMap(({ values, weight = 1 }) => values.map((x) => Math.abs(weight * x))));
  const variance = sum(parts.map((part) => part.variance));
  if (Math.sqrt(variance) <= 1e-12 * scale) return 0;
  if (parts.length === 1) {
    const { count, deviation, values } = parts[0]!;
    const studentized = by === 'bootstrap' ? studentizedQuantile(values) : Number.NaN;
    const factor = Number.isFinite(studentized) ? studentized : studentQuantile975(count - 1);
    return (factor * deviation) / Math.sqrt(count);
  }
  const degrees = variance ** 2 / sum(parts.map((part) => part.variance ** 2 / (part.count - 1)));
  return studentQuantile975(degrees) * Math.sqrt(variance);
}

/** The 0.95 quantile of |t| over resamples; not finite for too few values or too many nearly constant resamples. */
function studentizedQuantile(values: readonly number[]): number {
  if (values.length < minToStudentize) return Number.NaN;
  const center = mean(values);
  const minError = minSpread * standardError(values);
  const deviations = resampleAll(values, (picked) => {
    const resampleMean = mean(picked);
    const error = standardError(picked, resampleMean);
    return error > minError ? Math.abs(resampleMean - center) / error : Number.POSITIVE_INFINITY;
  });
  return quantile(sortAscending(deviations), 0.95);
}

const statistics = { median, iqm: interquartileMean } as const;

/**
 * 95% interval of the median or interquartile mean of runs, from resampling them; null for fewer than three. The tails
 * of the percentile bootstrap are widened to match Student's t with n − 1 degrees of freedom: α/2 becomes
 * P(Z > √(n/(n−1))·t₀.₉₇₅) (Hesterberg 2015, "What Teachers Should Know About the Bootstrap").
 */
export function percentileInterval95(
  values: readonly number[],
  statistic: keyof typeof statistics,
): Interval | null {
  const count = values.length;
  if (count < minForInterval) return null;
  return memoize(`${statistic};${values.join()}`, () => {
    const tail = normalTail(Math.sqrt(count / (count - 1)) * studentQuantile975(count - 1));
    const sorted = sortAscending(resampleAll(values, statistics[statistic]));
    return [quantile(sorted, tail), quantile(sorted, 1 - tail)];
  });
}

/** Caches intervals, because live pages request the same ones repeatedly. */
const cachedIntervals = new Map<string, Interval>();
const maxCached = 2000;

function memoize(key: string, compute: () => Interval): Interval {
  const interval = cachedIntervals.get(key) ?? compute();
  if (cachedIntervals.size >= maxCached) cachedIntervals.clear();
  cachedIntervals.set(key, interval);
  return interval;
}

type Statistic = (values: readonly number[]) => number;

/** @param statistic must not keep its array, because the next resample overwrites it */
function resampleAll(values: readonly number[], statistic: Statistic): number[] {
  const count = values.length;
  const indices = drawIndices(count);
  const picked = [...values];
  return Array.from({ length: resampleCount }, (_, resample) => {
    for (let i = 0; i < count; i++) picked[i] = values[indices[resample * count + i]!]!;
    return statistic(picked);
  });
}

/** Caches the indices of all resamples by sample size, so that they are drawn only once. */
const indicesBySize = new Map<number, Uint32Array>();

function drawIndices(count: number): Uint32Array {
  const cachedIndices = indicesBySize.get(count);
  if (cachedIndices !== undefined) return cachedIndices;
  const random = createGenerator(0);
  const indices = Uint32Array.from({ length: resampleCount * count }, () => random.integers(0, count));
  indicesBySize.set(count, indices);
  return indices;
}

const standardError = (values: readonly number[], center?: number) =>
  standardDeviation(values, center) / Math.sqrt(values.length);
