export function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Arithmetic mean; NaN if there are no values. */
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Minimum; Infinity if there are no values. */
export function smallest(values: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const value of values) least = Math.min(least, value);
  return least;
}

/** Maximum; −Infinity if there are no values. `Math.max(...values)` fails above about 100,000 values. */
export function largest(values: Iterable<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** Index of the largest value, or of the first of several; 0 if there are no values. */
export function argmax(values: readonly number[]): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[best]!) best = i;
  return best;
}

/** Sample standard deviation (n − 1); 0 for fewer than two values. @param center their mean, if already known */
export function standardDeviation(values: readonly number[], center = mean(values)): number {
  if (values.length < 2) return 0;
  let total = 0;
  for (const value of values) total += (value - center) ** 2;
  return Math.sqrt(total / (values.length - 1));
}

/** Sorts values into a typed array, which is fast enough for the thousands of sorts of a bootstrap. */
export const sortAscending = (values: readonly number[]): Float64Array => new Float64Array(values).sort();

/** The mean of the middle half of the values, weighting the outermost of these fractionally (Agarwal et al. 2021). */
export function interquartileMean(values: readonly number[]): number {
  const sorted = sortAscending(values);
  const low = sorted.length / 4;
  const high = sorted.length - low;
  let total = 0;
  for (let i = Math.floor(low); i < high; i++) {
    total += sorted[i]! * (Math.min(i + 1, high) - Math.max(i, low));
  }
  return total / (high - low);
}

/** The `q` quantile (0 … 1) of sorted values, linearly interpolated; NaN if there are none. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return Number.NaN;
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

/** Median; NaN if there are no values. */
export const median = (values: readonly number[]): number => quantile(sortAscending(values), 0.5);
