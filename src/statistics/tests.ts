/** Welch's and Student's t tests, a permutation test, Holm's correction for multiple tests, and verdicts. */
import type { RandomGenerator } from '../base/random/generator.js';
import type { Interval } from './bootstrap.js';
import { largest, mean, standardDeviation, sum } from './descriptive.js';
import { studentQuantile975, studentTwoSided } from './distributions.js';

interface MeanTest {
  readonly difference: number;
  /** Two-sided p-value. */
  readonly p: number;
  /** 95% interval of the difference. */
  readonly interval: Interval;
}

/** Welch's t test of `a` − `b` (Welch 1947, Satterthwaite 1946); undefined if a group has fewer than two values. */
export function welchTest(a: readonly number[], b: readonly number[]): MeanTest | undefined {
  if (a.length < 2 || b.length < 2) return undefined;
  const [va, vb] = [a, b].map((values) => standardDeviation(values) ** 2 / values.length) as [number, number];
  const degrees = (va + vb) ** 2 / (va ** 2 / (a.length - 1) + vb ** 2 / (b.length - 1));
  const scale = largest([...a.map(Math.abs), ...b.map(Math.abs)]);
  return testOf(mean(a) - mean(b), Math.sqrt(va + vb), degrees, scale);
}

/** Student's t test (1908) of whether paired differences have mean 0; undefined for fewer than two differences. */
export function pairedTest(differences: readonly number[]): MeanTest | undefined {
  if (differences.length < 2) return undefined;
  const error = standardDeviation(differences) / Math.sqrt(differences.length);
  const scale = largest(differences.map(Math.abs));
  return testOf(mean(differences), error, differences.length - 1, scale);
}

function testOf(difference: number, error: number, degrees: number, scale: number): MeanTest {
  // Sums of equal values have rounding errors, which must count neither as spread nor as a difference.
  const rounding = 1e-12 * scale;
  if (error <= rounding) {
    const same = Math.abs(difference) <= rounding;
    return { difference, p: same ? 1 : 0, interval: [difference, difference] };
  }
  const half = studentQuantile975(degrees) * error;
  const interval = [difference - half, difference + half] as const;
  return { difference, p: studentTwoSided(difference / error, degrees), interval };
}

/** A permutation test ends after this many permutations that are at least as extreme as the samples. */
const enoughExtremes = 20;

/**
 * p-value of the hypothesis that two samples have one distribution, from the difference of their means over random
 * permutations: twice that of the nearer tail. Ends early if p is large (Besag & Clifford 1991).
 * @param most maximum number of permutations; p is at least 2 / (most + 1)
 */
export function permutationTest(
  a: readonly number[],
  b: readonly number[],
  random: RandomGenerator,
  most: number,
): number {
  const pooled = [...a, ...b];
  const total = sum(pooled);
  const sign = Math.sign(mean(a) - mean(b));
  const differenceOf = (first: number) => sign * (first / a.length - (total - first) / b.length);
  // The same values in another order can have another sum.
  const observed = differenceOf(sum(a)) - 1e-12 * largest(pooled.map(Math.abs));
  let extremes = 0;
  for (let drawn = 1; drawn <= most; drawn++) {
    for (let i = 0; i < a.length; i++) {
      const j = random.integers(i, pooled.length);
      [pooled[i], pooled[j]] = [pooled[j]!, pooled[i]!];
    }
    if (differenceOf(sum(pooled.slice(0, a.length))) >= observed) extremes++;
    if (extremes === enoughExtremes) return Math.min(1, (2 * extremes) / drawn);
  }
  return Math.min(1, (2 * (extremes + 1)) / (most + 1));
}

/** Holm's step-down adjusted p-values (1979), in the order of `ps`. */
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

export type Verdict = 'higher' | 'lower' | 'no-evidence' | 'too-few';

/** Minimum number of pairs or values per group: five differences of equal methods have the same sign in 6% of cases. */
export const fewestForVerdict = 6;

export const significance = 0.05;

export interface Tested {
  /** 95% interval, not corrected for multiple tests; null if there are too few values to compute it. */
  readonly interval: Interval | null;
  /** Two-sided p-value; null if there are too few values for a verdict. */
  readonly p: number | null;
}

export interface Judged {
  /** `p` after Holm's correction for all differences that have a p-value. */
  readonly adjusted: number | null;
  readonly verdict: Verdict;
}

/**
 * Judges differences: `higher` or `lower` if the 95% interval excludes 0 and p < 0.05 after Holm's correction;
 * otherwise `no-evidence`, or `too-few` if a difference has no p-value or no interval. See `docs/explanation/verdicts.md`.
 * @param together all differences that share Holm's correction
 */
export function verdicts<T extends Tested>(together: readonly T[]): readonly (T & Judged)[] {
  const ps = together.flatMap(({ p }) => p ?? []);
  const adjusted = holmAdjusted(ps);
  let next = 0;
  return together.map((difference) => {
    const own = difference.p === null ? null : adjusted[next++]!;
    return { ...difference, adjusted: own, verdict: verdict(difference.interval, own) };
  });
}

/** Judges the differences of several results together; a difference that is part of several results counts once. */
export function judge<T extends Tested>(results: readonly (readonly T[])[]) {
  const distinct = [...new Set(results.flat())];
  const judged = new Map(verdicts(distinct).map((difference, i) => [distinct[i]!, difference]));
  return results.map((own) => own.map((difference) => judged.get(difference)!));
}

function verdict(interval: Interval | null, adjusted: number | null): Verdict {
  if (interval === null || adjusted === null) return 'too-few';
  if (adjusted >= significance) return 'no-evidence';
  if (interval[0] > 0) return 'higher';
  return interval[1] < 0 ? 'lower' : 'no-evidence';
}
