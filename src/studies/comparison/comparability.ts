/** Tests the differences between groups of runs, and warns about differences that make a comparison misleading. */
import { UserError } from '../../base/errors.js';
import { groupBy } from '../../base/grouped.js';
import { plural } from '../../base/text/numbers.js';
import { isBaselineName } from '../../config/baselines.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';
import { comparePairs } from '../../statistics/paired.js';
import { judgeAll, minForVerdict, unpairedTest, type Verdict } from '../../statistics/tests.js';
import { type ComparedRun, type ConfiguredRun, commonRange } from './compared-runs.js';
import { failureCaution } from './failures.js';
import { materialSettings, type RunGroup, settingOf, type TaskGroups } from './run-groups.js';

/** The difference between the confirmed returns of two groups. */
export interface GroupDifference {
  readonly of: string;
  readonly against: string;
  /** `paired`: by seed. `none`: not tested. */
  readonly test: 'paired' | 'unpaired' | 'none';
  /** Reason for withholding the verdict. */
  readonly reason?: string;
  /** Number of pairs, or of seeds with a return in each group: confirmed, or imputed for failed runs. */
  readonly counts: readonly number[];
  /** `of` − `against`; null if `test` is `none`, or a group has no returns. */
  readonly difference: number | null;
  /** Uncorrected 95% interval (`interval95`), within the possible range. */
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
 * @param reference name of the only group that others are compared with
 * @throws UserError if a task has no such group
 */
export function differencesOf(
  tasks: readonly Pick<TaskGroups, 'groups' | 'name'>[],
  reference?: string,
): readonly (readonly GroupDifference[])[] {
  const differences = tasks.map(({ groups, name: task }) => {
    const sides = groups.map(sideOf);
    if (reference === undefined)
      return sides.flatMap((of, i) => sides.slice(0, i).map((against) => differenceOf(of, against)));
    const against = sides.find(({ name }) => name === reference);
    const message = `no group of ${task} has this name`;
    const alternatives = groups.map(({ name }) => name);
    if (!against) throw new UserError({ field: '--against', value: reference, message, alternatives });
    return sides.filter((of) => of !== against).map((of) => differenceOf(of, against));
  });
  return judgeDifferences(differences);
}

type UnjudgedDifference = Omit<GroupDifference, 'adjusted' | 'verdict'>;
type TestWithReason = Pick<GroupDifference, 'interval' | 'p' | 'reason'>;

/** Adds verdicts, with one correction for all differences. With a `reason`, the verdict is `not-comparable`. */
export const judgeDifferences = <T extends TestWithReason>(differences: readonly (readonly T[])[]) =>
  judgeAll(differences).map((own) =>
    own.map((one) => (one.reason === undefined ? one : { ...one, verdict: 'not-comparable' as const })),
  );

/** Removes the p-value, and so the verdict, if there is a reason. */
export const withholdVerdict = <T extends TestWithReason>(result: T, reason: string | undefined): T =>
  reason === undefined ? result : { ...result, p: null, reason: result.reason ?? reason };

/**
 * Lists the difference between two groups whose values form pairs (see `comparePairs`); empty if there are no pairs.
 * @param reason for withholding the verdict, if any
 */
export function pairedDifference(
  { of, against, reason }: Pick<GroupDifference, 'of' | 'against'> & { readonly reason?: string | undefined },
  ...values: Parameters<typeof comparePairs>
) {
  const comparison = comparePairs(...values);
  if (comparison === undefined) return [];
  const { pairs, winInterval: _, ...measured } = comparison;
  return [withholdVerdict({ of, against, test: 'paired' as const, counts: [pairs], ...measured }, reason)];
}

/** Collects the data of a group that a comparison needs. */
const sideOf = ({ name, runs }: RunGroup) => ({
  name,
  over: runs.length,
  failed: runs.filter(({ failed }) => failed).length,
  range: commonRange(runs),
  confirmed: confirmedBySeed(runs),
  /** A step limit changes the meaning of a return, so groups that differ in it are not tested. */
  scoring: valuesOf(runs, scoringKey),
  /** Equal for groups whose runs with the same seed were evaluated, and confirmed, on the same episodes. */
  episodes: ['evaluation', 'confirmation'].map((section) => valuesOf(runs, section)),
});

const scoringKey = 'evaluation.maxSteps';

type ComparedSide = ReturnType<typeof sideOf>;

const allEqual = (a: readonly string[], b: readonly string[]) => new Set([...a, ...b]).size === 1;

const differenceOf = (of: ComparedSide, against: ComparedSide): UnjudgedDifference =>
  withholdVerdict(measuredDifference(of, against), failureCaution(of, against));

function measuredDifference(of: ComparedSide, against: ComparedSide): UnjudgedDifference {
  const [a, b] = [of.confirmed, against.confirmed];
  const untested = {
    of: of.name,
    against: against.name,
    counts: [a.size, b.size],
    ...{ difference: null, interval: null, winRate: null, p: null },
  };
  if (!allEqual(of.scoring, against.scoring))
    return { ...untested, test: 'none', reason: `${scoringKey} differs` };
  const range = commonRange([of, against]);
  const seeds = [...a.keys()].filter((seed) => b.has(seed));
  const haveSameEpisodes = of.episodes.every((values, i) => allEqual(values, against.episodes[i]!));
  if (haveSameEpisodes && arePaired(seeds.length, a.size, b.size)) {
    const values = [a, b].map((own) => seeds.map((seed) => own.get(seed)!));
    return pairedDifference(untested, values[0]!, values[1]!, range)[0]!;
  }
  const [left, right] = [[...a.values()], [...b.values()]];
  if (a.size === 0 || b.size === 0) return { ...untested, test: 'unpaired' };
  const { difference, interval, p } = unpairedTest(left, right, range);
  const areEnough = Math.min(a.size, b.size) >= minForVerdict;
  return { ...untested, test: 'unpaired', difference, interval, p: areEnough ? p : null };
}

/** Says which seeds are paired and, for unpaired groups, how to get pairs. */
export function pairingNotes(
  groups: readonly RunGroup[],
  differences: readonly GroupDifference[],
): readonly string[] {
  const seedsByGroup = new Map(groups.map(({ name, runs }) => [name, [...confirmedBySeed(runs).keys()]]));
  const texts = differences.flatMap(({ against, of, test }) => {
    const [a, b] = [seedsByGroup.get(of)!, seedsByGroup.get(against)!];
    const sharedSeeds = a.filter((seed) => b.includes(seed)).toSorted((c, d) => Number(c) - Number(d));
    const seedList = sharedSeeds.join(', ');
    if (test === 'none' || a.length === 0 || b.length === 0) return [];
    const cause = arePaired(sharedSeeds.length, a.length, b.length)
      ? 'the settings of evaluation or confirmation differ'
      : seedList === ''
        ? 'no seeds are shared'
        : `only these seeds are shared: ${seedList}`;
    const text =
      test === 'paired'
        ? `paired by seed ${seedList}`
        : `not paired, because ${cause}; for pairs, run both with the same settings and seeds in one policyloop sweep, e.g. seed=1..10`;
    return [{ text, pair: `${of} − ${against}` }];
  });
  return [...groupBy(texts, ({ text }) => text)].map(
    ([text, own]) => `${own.map(({ pair }) => pair).join('; ')}: ${text}`,
  );
}

/** True if the groups share enough seeds to pair runs: all seeds of the smaller group, or enough for a verdict. */
const arePaired = (shared: number, a: number, b: number) =>
  shared > 0 && (shared === Math.min(a, b) || shared >= minForVerdict);

export const confirmedBySeed = (runs: readonly ConfiguredRun[]) =>
  meanBySeed(runs, ({ confirmed, imputedReturn }) => confirmed?.mean ?? imputedReturn ?? null);

/** Averages runs with the same seed: they share warm-up and episodes, so they count as one observation. */
export function meanBySeed<T extends ConfiguredRun>(
  runs: readonly T[],
  value: (run: T) => number | null,
): ReadonlyMap<string, number> {
  const bySeed = groupBy(runs, ({ manifest }) => String(manifest.seed));
  return new Map(
    [...bySeed].flatMap(([seed, own]) => {
      const values = own.flatMap((run) => value(run) ?? []);
      return values.length === 0 ? [] : [[seed, mean(values)] as const];
    }),
  );
}

/** Returns the distinct values of a key in these runs, ignoring settings that don't affect results. */
const valuesOf = (runs: readonly ComparedRun[], key: string): readonly string[] => [
  ...new Set(runs.map((run) => settingOf(materialSettings(run), key))),
];

/** Warns about differences between and within the groups of an environment that could mislead readers. */
export function cautions({ groups, nameKeys }: TaskGroups, by?: readonly string[]): readonly string[] {
  const keys = groups.flatMap(({ runs }) => runs.flatMap((run) => [...materialSettings(run).keys()]));
  return [
    ...listValues('budget in evaluations', groups, ({ runs }) => runs.map(({ budget }) => String(budget))),
    ...[...new Set(keys)]
      .toSorted()
      .filter((key) => !isNamed(key, nameKeys))
      .flatMap((key) => {
        // Baselines ignore prompts and settings of language models.
        const own = /^(prompts|model)\./.test(key) ? groups.filter((group) => !isOfBaselines(group)) : groups;
        return listValues(key, own, ({ runs }) => valuesOf(runs, key));
      }),
    ...groups.flatMap((group) => [...mixingCautions(group, by), ...runCautions(group)]),
  ];
}

/** True if the names of the groups show the key's value, or imply that it differs. */
const isNamed = (key: string, nameKeys: readonly string[]): boolean =>
  nameKeys.some((name) => key === name || key.startsWith(`${name}.`)) ||
  (nameKeys.includes('model') && /^model\.(provider|name|path|adapter|baseUrl|host)$/.test(key)) ||
  (key === 'prompts.templates' && nameKeys.includes('prompts.set'));

/** Lists the groups with each value if values differ; omits the list if it is long. */
function listValues(
  key: string,
  groups: readonly RunGroup[],
  valuesIn: (group: RunGroup) => Iterable<string>,
): readonly string[] {
  const byValue = groupBy(groups, (group) => [...new Set(valuesIn(group))].toSorted().join(' and '));
  if (byValue.size < 2) return [];
  const parts = [...byValue].map(([value, own]) => `${value} (${own.map(({ name }) => name).join('; ')})`);
  const text = parts.join(', ');
  return [`${key} differs${text.length > maxValuesLength ? '' : `: ${text}`}`];
}

const maxValuesLength = 200;

const isOfBaselines = ({ runs }: RunGroup) =>
  runs.every(({ config }) => isBaselineName(config.model.provider));

/** Warns if `--by` merged runs with different settings. */
function mixingCautions({ name, runs }: RunGroup, by: readonly string[] | undefined): readonly string[] {
  const keys = [...new Set(runs.flatMap((run) => [...materialSettings(run).keys()]))].filter(
    (key) => valuesOf(runs, key).length > 1,
  );
  if (by === undefined || keys.length === 0) return [];
  return [
    `${name} mixes runs with different ${keys.toSorted().join(', ')}; runs with the same seed are averaged and count once`,
  ];
}

function runCautions({ name, runs }: RunGroup): readonly string[] {
  const countCaution = (problem: string, affectedRuns: readonly ComparedRun[]) => {
    if (affectedRuns.length === 0) return [];
    const endText = [...new Set(affectedRuns.map(({ ended }) => ended))].join('; ');
    return [`${name}: ${affectedRuns.length} of ${plural(runs.length, 'run')} ${problem} (${endText})`];
  };
  const versions = [...new Set(runs.map(({ manifest }) => manifest.versions.policyloop))];
  return [
    ...countCaution(
      'failed; a run without a confirmed return gets the lowest of this environment',
      runs.filter(({ imputedReturn }) => typeof imputedReturn === 'number'),
    ),
    ...countCaution(
      'ended before the last iteration, so budgets differ',
      runs.filter(({ stoppedEarly }) => stoppedEarly),
    ),
    ...countCaution(
      'unfinished; the best so far covers only the evaluations so far',
      runs.filter(({ failed, status }) => status !== 'completed' && !failed),
    ),
    ...countCaution(
      'without a confirmed return, left out of the mean',
      runs.filter(({ confirmed, imputedReturn }) => confirmed === null && typeof imputedReturn !== 'number'),
    ),
    ...(versions.length > 1 ? [`${name}: different versions of policyloop: ${versions.join(', ')}`] : []),
  ];
}
