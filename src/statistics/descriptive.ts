/** Arithmetic mean; NaN for no values. */
export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/** Infinity for no values. */
export function smallest(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
}

/** −Infinity for no values. */
export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
}

/** Sample standard deviation (n − 1); 0 for fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  let squares = 0;
  for (const value of values) squares += (value - centre) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** Interquartile mean: the mean of the middle half, outer items weighted by their share (Agarwal et al. 2021). */
export function interquartileMean(values: readonly number[]): number {
  // Bootstraps call this thousands of times: numbers sort faster in a typed array.
  const sorted = Float64Array.from(values).sort();
  const low = sorted.length / 4;
  const high = sorted.length - low;
  let sum = 0;
  for (let i = Math.floor(low); i < high; i++) {
    sum += sorted[i]! * (Math.min(i + 1, high) - Math.max(i, low));
  }
  return sum / (high - low);
}

/** 95 % interval of the mean by Student's t distribution; both ends equal the mean for fewer than two values. */
export function meanInterval95(values: readonly number[]): readonly [number, number] {
  const centre = mean(values);
  const half =
    values.length < 2
      ? 0
      : (tQuantile975(values.length - 1) * standardDeviation(values)) / Math.sqrt(values.length);
  return [centre - half, centre + half];
}

/** Two-sided 95 % quantiles of Student's t distribution for 1 … 30 degrees of freedom. */
const tTable = [
  12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818, 2.4469119, 2.3646243, 2.3060041, 2.2621572,
  2.2281389, 2.2009852, 2.1788128, 2.1603687, 2.1447867, 2.1314495, 2.1199053, 2.1098156, 2.100922, 2.0930241,
  2.0859634, 2.0796138, 2.0738731, 2.0686576, 2.0638986, 2.0595386, 2.0555294, 2.0518305, 2.0484071,
  2.0452296, 2.0422725,
];

/** The 0.975 quantile of Student's t; beyond the table by the expansion in 1/ν (Abramowitz & Stegun 26.7.5). */
export function tQuantile975(degrees: number): number {
  const tabulated = tTable[degrees - 1];
  if (tabulated !== undefined) return tabulated;
  const z = 1.959963984540054;
  const g1 = (z ** 3 + z) / 4;
  const g2 = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  const g3 = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384;
  return z + g1 / degrees + g2 / degrees ** 2 + g3 / degrees ** 3;
}

/** Value below which the share `q` (0 … 1) of the sorted values lies, interpolated; NaN for none. */
export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) return Number.NaN;
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

/** NaN for no values. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** P(Z > z) of a standard normal variable, within 1e-7 (Abramowitz & Stegun 26.2.17). */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const polynomial =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * polynomial;
}

/**
 * Exact 95 % interval of a share (Clopper & Pearson 1934): covers at least that often, whatever the share. Halves (ties
 * that count half) are rounded outwards. Pooled trials of different shares are covered for their mean share too
 * (Hoeffding 1956: their sum spreads less).
 * @param successes 0 … trials
 */
export function shareInterval95(successes: number, trials: number): readonly [number, number] {
  if (trials === 0) return [0, 1];
  const [least, most] = [Math.floor(successes), Math.ceil(successes)];
  return [
    least === 0 ? 0 : bisect((share) => binomialTail(least, trials, share) - 0.025),
    most === trials ? 1 : bisect((share) => binomialTail(most + 1, trials, share) - 0.975),
  ];
}

/** P(X ≥ successes) of a binomial variable; grows with the share. */
function binomialTail(successes: number, trials: number, share: number): number {
  let tail = 0;
  let logChoices = 0;
  for (let k = 1; k <= trials; k++) {
    logChoices += Math.log((trials - k + 1) / k);
    if (k >= successes)
      tail += Math.exp(logChoices + k * Math.log(share) + (trials - k) * Math.log1p(-share));
  }
  return tail;
}

/** Where a function that grows from below 0 to above it over 0 … 1 crosses 0. */
function bisect(grows: (share: number) => number): number {
  let [low, high] = [0, 1];
  for (let halving = 0; halving < 50; halving++) {
    const middle = (low + high) / 2;
    if (grows(middle) < 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
