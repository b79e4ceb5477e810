/** Tests of a difference of means by Student's t distribution, and Holm's correction for several of them. */
import type { Interval } from './bootstrap.js';
import { mean, standardDeviation } from './descriptive.js';

/** A difference of means and what chance says of it. */
export interface MeanTest {
  readonly difference: number;
  /** Infinite where values without any spread differ, 0 where they are equal. */
  readonly t: number;
  readonly degrees: number;
  /** Two-sided. */
  readonly p: number;
  /** Of the difference, 95 %. */
  readonly interval: Interval;
}

/**
 * Welch's t test, `a` − `b`: groups of different size and spread. Degrees of freedom by Welch (1947) and Satterthwaite
 * (1946). undefined for a group of fewer than two values.
 */
export function welchTest(a: readonly number[], b: readonly number[]): MeanTest | undefined {
  if (a.length < 2 || b.length < 2) return undefined;
  const [va, vb] = [a, b].map((values) => standardDeviation(values) ** 2 / values.length) as [number, number];
  const degrees = (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1));
  const scale = Math.max(...a.map(Math.abs), ...b.map(Math.abs));
  return testOf(mean(a) - mean(b), Math.sqrt(va + vb), degrees, scale, a.length + b.length - 2);
}

/** Student's t test of differences within pairs (1908) against 0; undefined for fewer than two. */
export function pairedTest(differences: readonly number[]): MeanTest | undefined {
  if (differences.length < 2) return undefined;
  const degrees = differences.length - 1;
  const error = standardDeviation(differences) / Math.sqrt(differences.length);
  const scale = Math.max(...differences.map(Math.abs));
  return testOf(mean(differences), error, degrees, scale, degrees);
}

/** @param without degrees of freedom where there is no spread to take them from */
function testOf(
  difference: number,
  error: number,
  degrees: number,
  scale: number,
  without: number,
): MeanTest {
  // Sums of equal values are rounded: what is left then is neither spread nor a difference.
  const rounding = 1e-12 * scale;
  if (error <= rounding) {
    const same = Math.abs(difference) <= rounding;
    const t = same ? 0 : Math.sign(difference) * Number.POSITIVE_INFINITY;
    return { difference, t, degrees: without, p: same ? 1 : 0, interval: [difference, difference] };
  }
  const t = difference / error;
  const half = studentQuantile975(degrees) * error;
  return {
    difference,
    t,
    degrees,
    p: studentTwoSided(t, degrees),
    interval: [difference - half, difference + half],
  };
}

/**
 * Holm's step-down adjustment (1979): what is below α among the results is significant with at most that chance of any
 * false one among all. In the order given.
 */
export function holmAdjusted(ps: readonly number[]): readonly number[] {
  const order = ps.map((_, i) => i).toSorted((i, j) => ps[i]! - ps[j]!);
  const adjusted = new Array<number>(ps.length);
  let highest = 0;
  for (const [rank, i] of order.entries()) {
    highest = Math.max(highest, Math.min(1, (ps.length - rank) * ps[i]!));
    adjusted[i] = highest;
  }
  return adjusted;
}

/** P(|T| ≥ |t|) of Student's t with any positive degrees of freedom (Abramowitz & Stegun 26.7.1 and 26.5.27). */
export function studentTwoSided(t: number, degrees: number): number {
  if (!Number.isFinite(t)) return 0;
  const square = t * t;
  return incompleteBeta(degrees / (degrees + square), square / (degrees + square), degrees / 2, 0.5);
}

/** The 0.975 quantile of Student's t with any degrees of freedom of at least 1. */
export function studentQuantile975(degrees: number): number {
  let [low, high] = [0, 13];
  for (let halving = 0; halving < 50; halving++) {
    const middle = (low + high) / 2;
    if (studentTwoSided(middle, degrees) > 0.05) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The regularised I_x(a, b). @param rest 1 − x, given so that none of it is lost to rounding */
function incompleteBeta(x: number, rest: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  // The fraction converges fast on this side only (DLMF 8.17.4 and 8.17.22).
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(rest, x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log(rest) - logGamma(a) - logGamma(b) + logGamma(a + b));
  return (front / a) * betaFraction(x, a, b);
}

/** The continued fraction of DLMF 8.17.22, by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const kept = (value: number) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / kept(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let change = 1;
    for (const term of [even, odd]) {
      d = 1 / kept(1 + term * d);
      c = kept(1 + term / c);
      change = c * d;
      fraction *= change;
    }
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return fraction;
}

/** ln Γ(x) for x > 0: Stirling's series (Abramowitz & Stegun 6.1.41) after the recurrence has made x large. */
function logGamma(x: number): number {
  let shift = 0;
  let large = x;
  for (; large < 12; large++) shift += Math.log(large);
  const inverse = 1 / (large * large);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680)))) / large;
  return (large - 0.5) * Math.log(large) - large + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
