/** The result of a sweep: the confirmed returns of its settings, the effects of its keys, and the baselines. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unlessRefused } from '../../base/errors.js';
import { groupedBy } from '../../base/grouped.js';
import { version } from '../../base/package.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import type { UsageTotals } from '../../runs/calls.js';
import { runFiles } from '../../runs/reader.js';
import { summaryOf } from '../../runs/summary.js';
import { addUsage } from '../../runs/usage.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { largest, mean, smallest } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import type { GroupDifference } from '../comparison/comparability.js';
import { baselineDifferences } from './baselines.js';
import { type Effects, effectsOf } from './effects.js';
import { ranked, type SettingFigures } from './ranking.js';
import type { SweptKey } from './settings.js';
import { settingName } from './settings.js';
import type { Sweep, SweepSetting } from './sweep-plan.js';

/** The current state of a run of the sweep. */
interface ReadRun {
  /** True if the run reached its planned end. */
  readonly isDone: boolean;
  /** The environment's name in the manifest, e.g. `CartPole-v1` or `module:my-env`. */
  readonly environment: string;
  /** Mean confirmed return; null if the run didn't reach its planned end. */
  readonly confirmed: number | null;
  readonly observed: number | null;
  readonly usage: UsageTotals;
  readonly activeMs: number;
}

/** The results in one environment. Returns of different environments can't be compared. */
export interface SweptTask {
  readonly environment: string;
  readonly settings: readonly SettingFigures[];
  /** Name of the setting with the highest mean among the settings with the most seeds; null if no run is complete. */
  readonly best: string | null;
  readonly effects: Effects | null;
  /** The difference between each setting and each of its baselines; empty without baselines. */
  readonly baselines: readonly GroupDifference[];
}

/** Content of `sweep.json`. */
export interface SweepResult {
  readonly version: 1;
  readonly kind: 'sweep';
  readonly policyloop: string;
  /** Time of writing, ISO 8601. */
  readonly date: string;
  /** `incomplete` if a run is missing or failed. */
  readonly status: 'completed' | 'incomplete';
  readonly name: string;
  readonly method: string;
  /** How the values of each key were chosen. */
  readonly keys: readonly { readonly key: string; readonly kind: SweptKey['values']['kind'] }[];
  readonly seeds: readonly number[];
  readonly tasks: readonly SweptTask[];
  readonly usage: UsageTotals;
  readonly activeMs: number;
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

type ReadRuns = (setting: SweepSetting, seed: number) => ReadRun | undefined;

/** Returns a function that reads the runs of the sweep in `directory` and caches complete ones. */
export function sweepReader(directory: string): ReadRuns {
  const complete = new Map<string, ReadRun>();
  return ({ name }, seed) => {
    const path = join(directory, name, `seed-${seed}`);
    const known = complete.get(path);
    if (known !== undefined) return known;
    if (!existsSync(join(path, runFiles.manifest))) return undefined;
    // A run with a damaged manifest has no result; running it fails and says why.
    const summary = unlessRefused(() => summaryOf(path));
    if (summary === undefined) return undefined;
    const { confirmed, manifest, observed, status } = summary;
    const { activeMs, environment, reason, usage } = manifest;
    // A run cut short by a plan-wide limit had a smaller budget than earlier runs, so it isn't comparable.
    const isCut = reason?.kind === 'limit' && reason.limit.startsWith('sweep.');
    const isDone = status === 'completed' && !isCut;
    const own = isDone ? (confirmed?.mean ?? null) : null;
    const read = { isDone, environment, confirmed: own, observed, usage, activeMs };
    if (isDone) complete.set(path, read);
    return read;
  };
}

/** Range of an episode's return over settings, whose environments may have different options. */
function rangeOf(settings: readonly SweepSetting[]): Interval {
  const ranges = settings.map(({ config }) => returnRange(config.environment, config.evaluation));
  return [smallest(ranges.map(([low]) => low)), largest(ranges.map(([, high]) => high))];
}

export function sweepResult(
  sweep: Sweep,
  {
    failures,
    now,
    read,
  }: { readonly failures: SweepResult['failures']; readonly now: Date; readonly read: ReadRuns },
): SweepResult {
  const { how, keys, name, seeds } = sweep;
  const all = sweep.settings.map((setting) => ({ setting, runs: seeds.map((seed) => read(setting, seed)) }));
  const runs = all.flatMap((one) => one.runs);
  const tasks = [...groupedBy(all, ({ setting }) => setting.config.environment.id)].map(([id, own]) => {
    const range = rangeOf(own.map(({ setting }) => setting));
    const known = own.flatMap((one) => one.runs).find((run) => run !== undefined);
    return { environment: known?.environment ?? id, range, own };
  });
  const figures = tasks.map(({ own, range }) =>
    own.map(({ setting, runs }) => figuresOf(setting, runs, range)),
  );
  const differences = baselineDifferences(
    tasks.map(({ own, range }, task) => ({
      range,
      settings: figures[task]!.map((one, i) => ({
        ...one,
        label: settingName(one),
        comparedWith: own[i]!.setting.comparedWith,
      })),
    })),
  );
  return {
    version: 1,
    kind: 'sweep',
    policyloop: version(),
    date: now.toISOString(),
    status: runs.every((run) => run?.isDone === true) && failures.length === 0 ? 'completed' : 'incomplete',
    name,
    method: how.method,
    keys: keys.map(({ key, values }) => ({ key, kind: values.kind })),
    seeds,
    tasks: tasks.map(({ environment, range }, i): SweptTask => {
      const settings = figures[i]!;
      return {
        environment,
        settings,
        // A high mean over few seeds may be luck, so settings with more seeds rank first.
        best: ranked(settings).find(({ confirmed }) => confirmed !== null)?.name ?? null,
        // Settings drawn at random hardly repeat the values of a key.
        effects:
          how.method === 'random'
            ? null
            : (effectsOf(
                keys.map(({ key }) => key),
                settings.filter(({ baseline }) => baseline === null),
                range,
              ) ?? null),
        baselines: differences[i]!,
      };
    }),
    usage: addUsage(runs.flatMap((run) => run?.usage ?? [])),
    activeMs: runs.reduce((total, run) => total + (run?.activeMs ?? 0), 0),
    failures,
  };
}

function figuresOf(
  { baseline, name, values }: SweepSetting,
  runs: readonly (ReadRun | undefined)[],
  range: Interval,
): SettingFigures {
  const returns = runs.map((run) => run?.confirmed ?? null);
  const observed = runs.flatMap((run) => run?.observed ?? []);
  return {
    name,
    values,
    baseline,
    returns,
    runs: runs.filter((run) => run?.isDone === true).length,
    confirmed:
      summarize(
        returns.flatMap((value) => value ?? []),
        range,
      ) ?? null,
    observed: observed.length === 0 ? null : mean(observed),
    usage: addUsage(runs.flatMap((run) => run?.usage ?? [])),
  };
}
