import type { Interval } from './bootstrap.js';
import { holmAdjusted } from './tests.js';

export type Verdict = 'higher' | 'lower' | 'no-evidence' | 'too-few';

/**
 * Minimum number of pairs, or of values per group, for a verdict: two equal methods win five of five pairs in
 * 6% of cases, two-sided.
 */
export const fewestForVerdict = 6;

const significance = 0.05;

/** A difference of means. */
export interface Tested {
  /** Uncorrected 95% interval; null if there are too few values. */
  readonly interval: Interval | null;
  /** Two-sided; null if there are too few values for a verdict. */
  readonly p: number | null;
}

export interface Judged {
  /** Holm-adjusted `p` over all differences that have one. */
  readonly adjusted: number | null;
  readonly verdict: Verdict;
}

/**
 * The one rule for differences of means, used on every page and in every command: `higher` or `lower` if the
 * 95% interval excludes 0 and p < 0.05 after Holm's correction over all differences that are tested together;
 * otherwise `no-evidence`, or `too-few` below `fewestForVerdict` values. Explained in `docs/comparing.md`.
 * @param together every difference that the same table tests
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

function verdict(interval: Interval | null, adjusted: number | null): Verdict {
  if (interval === null || adjusted === null) return 'too-few';
  if (adjusted >= significance) return 'no-evidence';
  if (interval[0] > 0) return 'higher';
  return interval[1] < 0 ? 'lower' : 'no-evidence';
}
