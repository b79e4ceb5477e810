/** Tests the differences between groups of runs, and warns about differences that make a comparison misleading. */
import { groupedBy } from '../../base/grouped.js';
import { plural } from '../../base/text/numbers.js';
import { isBaselineName } from '../../config/baselines.js';
import { clipped, differenceRange, type Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';
import { comparePairs } from '../../statistics/paired.js';
import {
  fewestForVerdict,
  type Judged,
  type Tested,
  type Verdict,
  verdicts,
  welchTest,
} from '../../statistics/tests.js';
import { type ComparedRun, type ConfiguredRun, commonRange } from './compared-runs.js';
import { materialSettings, type RunGroup, settingOf, type TaskGroups } from './run-groups.js';

/** The difference between the confirmed returns of two groups. */
export interface GroupDifference {
  readonly of: string;
  readonly against: string;
  /** `paired`: by seed. `welch`: unpaired. `none`: not comparable, because of `reason`. */
  readonly test: 'paired' | 'welch' | 'none';
  readonly reason?: string;
  /** Number of pairs, or of seeds with a confirmed return in each group. */
  readonly counts: readonly number[];
  /** `of` − `against`. */
  readonly difference: number | null;
  /** Uncorrected 95% interval, within the possible range: as in `bootstrapMean95` for pairs, otherwise Welch's. */
  readonly interval: Interval | null;
  /** Share of pairs in which `of` is higher, counting ties as half; null if the test isn't paired. */
  readonly winRate: number | null;
  /** Two-sided p-value; null if there are too few runs for a verdict, or groups aren't comparable. */
  readonly p: number | null;
  /** `p` after Holm's correction for all differences that have a p-value. */
  readonly adjusted: number | null;
  readonly verdict: Verdict | 'not-comparable';
}

/**
 * Compares all pairs of groups within a task, each group against the earlier ones: `compare baseline new` shows what
 * `new` adds.
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

/** Runs are paired if the groups share all seeds of the smaller group, or enough seeds for a verdict. */
const arePairs = (shared: number, a: number, b: number) =>
  shared > 0 && (shared === Math.min(a, b) || shared >= fewestForVerdict);

export const confirmedBySeed = ({ runs }: RunGroup) =>
  meanBySeed(runs, ({ confirmed }) => confirmed?.mean ?? null);

/** Averages runs with the same seed: they share warm-up and episodes, so they count as one observation. */
export function meanBySeed<T extends ConfiguredRun>(
  runs: readonly T[],
  of: (run: T) => number | null,
): ReadonlyMap<string, number> {
  const bySeed = groupedBy(runs, ({ manifest }) => String(manifest.seed));
  return new Map(
    [...bySeed].flatMap(([seed, own]) => {
      const values = own.flatMap((run) => of(run) ?? []);
      return values.length === 0 ? [] : [[seed, mean(values)] as const];
    }),
  );
}

/** The key that changes the meaning of a return; groups that differ in it are not tested. */
const scoring = 'evaluation.maxSteps';

/** Reason why two groups can't be tested against each other; undefined if they can. */
const refusal = (a: RunGroup, b: RunGroup): string | undefined =>
  valuesOf([a, b], scoring).size > 1 ? `${scoring} differs` : undefined;

/** True if runs with the same seed were evaluated on the same episodes, and confirmed on the same episodes. */
const sameSetting = (a: RunGroup, b: RunGroup): boolean =>
  ['evaluation', 'confirmation'].every((section) => valuesOf([a, b], section).size === 1);

/** The distinct values of a key in these groups, ignoring settings that don't affect results. */
function valuesOf(groups: readonly RunGroup[], key: string): ReadonlySet<string> {
  const [first] = groups;
  return groups.length === 1
    ? ownValues(first!, key)
    : new Set(groups.flatMap((group) => [...ownValues(group, key)]));
}

/** Caches values by group and key, because each group is compared with all others. */
const known = new WeakMap<RunGroup, Map<string, ReadonlySet<string>>>();

function ownValues(group: RunGroup, key: string): ReadonlySet<string> {
  const values = known.get(group) ?? new Map<string, ReadonlySet<string>>();
  known.set(group, values);
  const own = values.get(key) ?? new Set(group.runs.map((run) => settingOf(materialSettings(run), key)));
  values.set(key, own);
  return own;
}

/** Warns about differences between and within the groups of an environment that could mislead readers. */
export function cautions(
  { groups, named }: TaskGroups,
  by: readonly string[] | undefined,
): readonly string[] {
  const keys = groups.flatMap(({ runs }) => runs.flatMap((run) => [...materialSettings(run).keys()]));
  return [
    ...differing('budget in evaluations', groups, ({ runs }) => runs.map(({ budget }) => String(budget))),
    ...[...new Set(keys)]
      .toSorted()
      .filter((key) => !isNamed(key, named))
      .flatMap((key) => {
        // Prompts and settings of language models say nothing about baselines.
        const own = /^(prompts|model)\./.test(key) ? groups.filter((group) => !isOfBaselines(group)) : groups;
        return differing(key, own, (group) => valuesOf([group], key));
      }),
    ...groups.flatMap((group) => [...mixed(group, by), ...ofRuns(group)]),
  ];
}

/** True if the names of the groups show the key's value, or imply that it differs. */
const isNamed = (key: string, named: readonly string[]): boolean =>
  named.some((name) => key === name || key.startsWith(`${name}.`)) ||
  (named.includes('model') && /^model\.(provider|name|path|adapter|baseUrl|host)$/.test(key)) ||
  (key === 'prompts.templates' && named.includes('prompts.set'));

/** Names the groups with each value, if they differ; without the values if these are long. */
function differing(
  key: string,
  groups: readonly RunGroup[],
  valuesIn: (group: RunGroup) => Iterable<string>,
): readonly string[] {
  const byValue = groupedBy(groups, (group) => [...new Set(valuesIn(group))].toSorted().join(' and '));
  if (byValue.size < 2) return [];
  const parts = [...byValue].map(([value, own]) => `${value} (${own.map(({ name }) => name).join('; ')})`);
  const text = parts.join(', ');
  return [`${key} differs${text.length > longestValues ? '' : `: ${text}`}`];
}

const longestValues = 200;

const isOfBaselines = ({ runs }: RunGroup) =>
  runs.every(({ config }) => isBaselineName(config.model.provider));

/** Warns if `--by` merged runs with different settings. */
function mixed({ name, runs }: RunGroup, by: readonly string[] | undefined): readonly string[] {
  if (by === undefined) return [];
  const settings = runs.map(materialSettings);
  const keys = [...new Set(settings.flatMap((own) => [...own.keys()]))].filter(
    (key) => new Set(settings.map((own) => settingOf(own, key))).size > 1,
  );
  if (keys.length === 0) return [];
  return [
    `${name} mixes runs with different ${keys.toSorted().join(', ')}; runs with the same seed are averaged and count once`,
  ];
}

function ofRuns({ name, runs }: RunGroup): readonly string[] {
  const counted = (what: string, own: readonly ComparedRun[]) => {
    const ends = [...new Set(own.map(({ ended }) => ended))].join('; ');
    return own.length === 0
      ? []
      : [`${name}: ${own.length} of ${plural(runs.length, 'run')} ${what} (${ends})`];
  };
  const versions = [...new Set(runs.map(({ manifest }) => manifest.versions.policyloop))];
  return [
    ...counted(
      'ended before the last iteration, so budgets differ',
      runs.filter(({ stoppedEarly }) => stoppedEarly),
    ),
    ...counted(
      'unfinished; areas cover only the evaluations so far',
      runs.filter(({ status }) => status !== 'completed'),
    ),
    ...counted(
      'without a confirmed return, left out of the mean',
      runs.filter(({ confirmed }) => confirmed === null),
    ),
    ...(versions.length > 1 ? [`${name}: different versions of policyloop: ${versions.join(', ')}`] : []),
  ];
}
