/** Tests by flipped signs and permutations, Holm's correction for multiple tests, and verdicts. */
import { createGenerator, type RandomGenerator } from '../base/random/generator.js';
import { clip, differenceRange, hiddenRange, type Interval, interval95, realLine } from './bootstrap.js';
import { largest, mean, sum } from './descriptive.js';

/** With more pairs, signs are flipped at random. */
const maxExactPairs = 16;
const flipCount = 2 ** 14;

/**
 * p-value of the hypothesis that the differences of pairs are as likely to have the opposite sign: of all ways to flip
 * their signs, the share that gives a mean at least as far from 0 (Fisher 1935). For more than 16 pairs, flips signs at
 * random. Holds for any distribution: six equal differences have p = 0.03.
 */
export function signFlipTest(differences: readonly number[]): number {
  const n = differences.length;
  // Sums that should be equal may differ by rounding.
  const observed = Math.abs(sum(differences)) - 1e-12 * largest([0, ...differences.map(Math.abs)]);
  const random = createGenerator(0);
  const isExact = n <= maxExactPairs;
  const patternCount = isExact ? 2 ** n : flipCount;
  let extremeCount = isExact ? 0 : 1;
  for (let pattern = 0; pattern < patternCount; pattern++) {
    let [total, bits] = [0, pattern];
    for (let i = 0; i < n; i++) {
      if (!isExact && i % 32 === 0) bits = random.integers(0, 2 ** 32);
      total += (bits >>> i) & 1 ? -differences[i]! : differences[i]!;
    }
    if (Math.abs(total) >= observed) extremeCount++;
  }
  return extremeCount / (isExact ? patternCount : patternCount + 1);
}

interface MeanTest {
  readonly difference: number;
  /** Two-sided p-value. */
  readonly p: number;
  /** 95% interval of the difference (`interval95`), within the possible range. */
  readonly interval: Interval | null;
}

/** Compares two groups that aren't paired; p is that of `permutationTest`. */
export function unpairedTest(a: readonly number[], b: readonly number[], range = realLine): MeanTest {
  const difference = mean(a) - mean(b);
  const interval = interval95([
    { values: a, hidden: hiddenRange(a, range) },
    { values: b, hidden: hiddenRange(b, range), weight: -1 },
  ]);
  return {
    difference,
    p: permutationTest(a, b, createGenerator(0), 20_000, 200),
    interval: clip(interval, differenceRange(range), difference),
  };
}

/**
 * p-value of the hypothesis that two samples come from the same distribution, from the difference of their means over
 * random permutations: twice that of the nearer tail. Ends early if p is large (Besag & Clifford 1991).
 * @param maxPermutations p is at least 2 / (maxPermutations + 1)
 * @param maxExtreme ends after this many permutations at least as extreme as the samples
 */
export function permutationTest(
  a: readonly number[],
  b: readonly number[],
  random: RandomGenerator,
  maxPermutations: number,
  maxExtreme = 20,
): number {
  const pooled = [...a, ...b];
  const total = sum(pooled);
  const sign = Math.sign(mean(a) - mean(b));
  const differenceOf = (first: number) => sign * (first / a.length - (total - first) / b.length);
  // Sums of the same values in another order may differ by rounding.
  const observed = differenceOf(sum(a)) - 1e-12 * largest(pooled.map(Math.abs));
  let extremeCount = 0;
  for (let drawCount = 1; drawCount <= maxPermutations; drawCount++) {
    for (let i = 0; i < a.length; i++) {
      const j = random.integers(i, pooled.length);
      [pooled[i], pooled[j]] = [pooled[j]!, pooled[i]!];
    }
    if (differenceOf(sum(pooled.slice(0, a.length))) >= observed) extremeCount++;
    if (extremeCount === maxExtreme) return Math.min(1, (2 * extremeCount) / drawCount);
  }
  return Math.min(1, (2 * (extremeCount + 1)) / (maxPermutations + 1));
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
export const minForVerdict = 6;

export const significanceLevel = 0.05;

interface TestResult {
  /** 95% interval, not corrected for multiple tests; null if there are too few values to compute it. */
  readonly interval: Interval | null;
  /** Two-sided p-value; null if there are too few values for a verdict, or the verdict is withheld. */
  readonly p: number | null;
}

export interface Judgment {
  /** `p` after Holm's correction for all differences that have a p-value. */
  readonly adjusted: number | null;
  readonly verdict: Verdict;
}

/**
 * Judges differences: `higher` or `lower` if the 95% interval excludes 0 and p < 0.05 after Holm's correction;
 * otherwise `no-evidence`, or `too-few` if a difference has no p-value or interval. See docs/explanation/verdicts.md.
 * @param differences all that share Holm's correction
 */
export function withVerdicts<T extends TestResult>(differences: readonly T[]): readonly (T & Judgment)[] {
  const ps = differences.flatMap(({ p }) => p ?? []);
  const adjusted = holmAdjusted(ps);
  let next = 0;
  return differences.map((difference) => {
    const adjustedP = difference.p === null ? null : adjusted[next++]!;
    return { ...difference, adjusted: adjustedP, verdict: verdictFor(difference.interval, adjustedP) };
  });
}

/** Judges the differences of several results together; a difference that is part of several results counts once. */
export function judgeAll<T extends TestResult>(results: readonly (readonly T[])[]) {
  const distinct = [...new Set(results.flat())];
  const judged = new Map(withVerdicts(distinct).map((difference, i) => [distinct[i]!, difference]));
  return results.map((own) => own.map((difference) => judged.get(difference)!));
}

function verdictFor(interval: Interval | null, adjusted: number | null): Verdict {
  if (interval === null || adjusted === null) return 'too-few';
  if (adjusted >= significanceLevel) return 'no-evidence';
  if (interval[0] > 0) return 'higher';
  return interval[1] < 0 ? 'lower' : 'no-evidence';
}
