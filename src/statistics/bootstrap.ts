/**
 * Bootstrap intervals for small numbers of runs. The methods were chosen by their coverage in simulations with 5 to 20
 * runs (docs/log): the plain percentile interval of a mean covers only 72 to 94%, not 95%.
 */
import { createGenerator } from '../base/random/generator.js';
import { ascending, interquartileMean, mean, median, quantile, standardDeviation } from './descriptive.js';
import { normalTail, studentQuantile975 } from './distributions.js';

export type Interval = readonly [number, number];

export const unbounded: Interval = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** Clips an interval to the possible range, but never excludes `centre`. */
export function clipped([low, high]: Interval, [least, most]: Interval, centre: number): Interval {
  return [Math.max(low, Math.min(least, centre)), Math.min(high, Math.max(most, centre))];
}

/** Range of possible differences between two values in the given range. */
export const differenceRange = ([least, most]: Interval): Interval => [least - most, most - least];

const resamples = 2000;

/** With fewer values, too many resamples are nearly constant, which makes their t values arbitrary. */
const fewestToStudentise = 10;

/** A resample counts as nearly constant if its standard error is below this share of the sample's standard error. */
const leastSpread = 0.1;

/**
 * 95% interval of the mean: mean ± q·s/√n. With ten or more values, q is the 0.95 quantile of |t| over resamples
 * (the symmetric studentised bootstrap, Hall 1988). With fewer values, or if at least one in twenty resamples is
 * nearly constant (because most values are equal), q comes from Student's t. Both ends equal the mean for fewer than
 * two values or if all values are equal. Deterministic.
 */
export const bootstrapMean95 = (values: readonly number[]): Interval =>
  remembered('mean', values, () => studentisedMean95(values));

function studentisedMean95(values: readonly number[]): Interval {
  const centre = mean(values);
  const error = standardError(values);
  if (!(error > 0)) return [centre, centre];
  const factor = studentisedQuantile(values, centre);
  const half = (Number.isFinite(factor) ? factor : studentQuantile975(values.length - 1)) * error;
  return [centre - half, centre + half];
}

function studentisedQuantile(values: readonly number[], centre: number): number {
  if (values.length < fewestToStudentise) return Number.NaN;
  const hardlyAny = leastSpread * standardError(values);
  const deviations = resampled(values, (picked) => {
    const own = mean(picked);
    const error = standardError(picked, own);
    return error > hardlyAny ? Math.abs(own - centre) / error : Number.POSITIVE_INFINITY;
  });
  return quantile(ascending(deviations), 0.95);
}

/** 95% interval of the interquartile mean by the expanded percentile bootstrap. */
export const bootstrapIqm95 = (values: readonly number[]): Interval =>
  remembered('iqm', values, () => expandedPercentile95(values, interquartileMean));

export const bootstrapMedian95 = (values: readonly number[]): Interval =>
  remembered('median', values, () => expandedPercentile95(values, median));

type Statistic = (values: readonly number[]) => number;

/**
 * Percentile bootstrap with tails widened to match Student's t with n − 1 degrees of freedom: α/2 becomes P(Z
 * > √(n/(n−1))·t₀.₉₇₅) (Hesterberg 2015, "What Teachers Should Know About the Bootstrap").
 */
function expandedPercentile95(values: readonly number[], statistic: Statistic): Interval {
  const count = values.length;
  if (count < 2) return [statistic(values), statistic(values)];
  const tail = normalTail(Math.sqrt(count / (count - 1)) * studentQuantile975(count - 1));
  const sorted = ascending(resampled(values, statistic));
  return [quantile(sorted, tail), quantile(sorted, 1 - tail)];
}

/** Caches intervals by statistic and values, because live pages request the same intervals repeatedly. */
const known = new Map<string, Interval>();
const mostKnown = 2000;

function remembered(name: string, values: readonly number[], compute: () => Interval): Interval {
  const key = `${name};${values.join()}`;
  const interval = known.get(key) ?? compute();
  if (known.size >= mostKnown) known.clear();
  known.set(key, interval);
  return interval;
}

/** @param statistic must not keep its array, because the next resample overwrites it */
function resampled(values: readonly number[], statistic: Statistic): number[] {
  const count = values.length;
  const indices = drawnIndices(count);
  const picked = [...values];
  return Array.from({ length: resamples }, (_, resample) => {
    for (let i = 0; i < count; i++) picked[i] = values[indices[resample * count + i]!]!;
    return statistic(picked);
  });
}

/** Caches the indices of all resamples by sample size, so that they are drawn only once. */
const drawn = new Map<number, Uint32Array>();

function drawnIndices(count: number): Uint32Array {
  const known = drawn.get(count);
  if (known !== undefined) return known;
  const random = createGenerator(0);
  const made = Uint32Array.from({ length: resamples * count }, () => random.integers(0, count));
  drawn.set(count, made);
  return made;
}

const standardError = (values: readonly number[], centre?: number) =>
  standardDeviation(values, centre) / Math.sqrt(values.length);
