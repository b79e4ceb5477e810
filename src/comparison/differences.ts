/** Differences between groups of repeats, with their statistical tests. */
import { clipped, differenceRange, type Interval } from '../statistics/bootstrap.js';
import { mean } from '../statistics/descriptive.js';
import { comparePairs } from '../statistics/paired.js';
import {
  fewestForVerdict,
  type Judged,
  type Tested,
  type Verdict,
  verdicts,
  welchTest,
} from '../statistics/tests.js';
import { refusal, sameSetting } from './comparability.js';
import { type ComparedRun, commonRange } from './compared-runs.js';
import { groupedBy, type RunGroup } from './run-groups.js';

/** The confirmed return of one group compared with that of another. */
export interface GroupDifference {
  readonly of: string;
  readonly against: string;
  /** `paired`: over runs that share a seed. `none`: not comparable, for `reason`. */
  readonly test: 'paired' | 'welch' | 'none';
  readonly reason?: string;
  /** Number of pairs, or of runs in each group. */
  readonly counts: readonly number[];
  /** `of` − `against`. */
  readonly difference: number | null;
  /** Uncorrected 95% interval: bootstrap for pairs, otherwise Welch. */
  readonly interval: Interval | null;
  /** Share of pairs in which the first is higher; ties count half. null without pairs. */
  readonly winRate: number | null;
  /** Two-sided; null if there are too few runs for a verdict. */
  readonly p: number | null;
  /** Holm-adjusted over all differences that have a p-value. */
  readonly adjusted: number | null;
  readonly verdict: Verdict | 'not-comparable';
}

/**
 * Compares each pair of groups of a task, the later one against the earlier: `compare baseline new` shows
 * what the new one adds.
 */
export function differencesOf(
  tasks: readonly { readonly groups: readonly RunGroup[] }[],
): readonly (readonly GroupDifference[])[] {
  const found = tasks.map(({ groups }) =>
    groups.flatMap((of, i) => groups.slice(0, i).map((against) => differenceOf(of, against))),
  );
  const judged = verdicts(found.flat());
  let next = 0;
  return found.map((own) => own.map(() => comparable(judged[next++]!)));
}

const comparable = (difference: Omit<GroupDifference, 'verdict'> & Judged): GroupDifference =>
  difference.test === 'none' ? { ...difference, verdict: 'not-comparable' } : difference;

function differenceOf(
  of: RunGroup,
  against: RunGroup,
): Omit<GroupDifference, 'adjusted' | 'verdict'> & Tested {
  const names = { of: of.name, against: against.name };
  const [a, b] = [confirmedBySeed(of), confirmedBySeed(against)];
  const untested = { difference: null, interval: null, winRate: null, p: null } as const;
  const reason = refusal(of, against);
  if (reason !== undefined) return { ...names, test: 'none', reason, counts: [a.size, b.size], ...untested };
  const range = commonRange([...of.runs, ...against.runs]);
  const shared = [...a.keys()].filter((seed) => b.has(seed));
  if (sameSetting(of, against) && arePairs(shared.length, a.size, b.size)) {
    const paired = comparePairs(
      shared.map((seed) => a.get(seed)!),
      shared.map((seed) => b.get(seed)!),
      range,
    )!;
    const { difference, interval, p, winRate } = paired;
    return { ...names, test: 'paired', counts: [shared.length], difference, interval, winRate, p };
  }
  const [left, right] = [[...a.values()], [...b.values()]];
  const test = welchTest(left, right);
  return {
    ...names,
    ...untested,
    test: 'welch',
    counts: [a.size, b.size],
    difference: a.size > 0 && b.size > 0 ? mean(left) - mean(right) : null,
    interval: test ? clipped(test.interval, differenceRange(range), test.difference) : null,
    p: Math.min(a.size, b.size) < fewestForVerdict ? null : test!.p,
  };
}

/** Runs are paired if seeds match: all of the smaller group's, or enough of them for a verdict. */
const arePairs = (shared: number, a: number, b: number) =>
  shared > 0 && (shared === Math.min(a, b) || shared >= fewestForVerdict);

export const confirmedBySeed = ({ runs }: RunGroup) =>
  meanBySeed(runs, ({ confirmed }) => confirmed?.mean ?? null);

/** Averages runs by seed: runs of one seed share warm-up and episodes, so they count as one observation. */
export function meanBySeed(
  runs: readonly ComparedRun[],
  of: (run: ComparedRun) => number | null,
): ReadonlyMap<string, number> {
  const bySeed = groupedBy(runs, ({ manifest }) => String(manifest.seed));
  return new Map(
    [...bySeed].flatMap(([seed, own]) => {
      const values = own.flatMap((run) => of(run) ?? []);
      return values.length === 0 ? [] : [[seed, mean(values)] as const];
    }),
  );
}
