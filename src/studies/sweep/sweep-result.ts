/** The result of a sweep: the confirmed returns of its settings, the effects of its keys, and the baselines. */
import { join } from 'node:path';
import { unlessRejected } from '../../base/errors.js';
import { groupBy } from '../../base/grouped.js';
import { packageVersion } from '../../base/package.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import type { UsageTotals } from '../../runs/calls.js';
import { type RunSummary, summaryOf } from '../../runs/summary.js';
import { sumUsage } from '../../runs/usage.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import type { ParallelKey } from '../../web/parallel.js';
import type { GroupDifference } from '../comparison/comparability.js';
import { commonRange } from '../comparison/compared-runs.js';
import { hasFailed, worstReturn } from '../comparison/failures.js';
import { compareWithBaselines } from './baselines.js';
import { type Effects, effectsOf } from './effects.js';
import { rankSettings, type SettingFigures } from './ranking.js';
import type { SweepSetting } from './settings.js';
import type { Sweep } from './sweep-plan.js';

/** The results in one environment. Returns of different environments can't be compared. */
export interface SweptTask {
  readonly environment: string;
  readonly settings: readonly SettingFigures[];
  /** Name of the setting with the highest mean among those with the most seeds; null if no return is confirmed. */
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
  /** `incomplete` if a run failed or hasn't reached its planned end. */
  readonly status: 'completed' | 'incomplete';
  readonly name: string;
  readonly method: string;
  /** The keys that vary, and how their values were chosen. */
  readonly keys: readonly ParallelKey[];
  readonly seeds: readonly number[];
  readonly tasks: readonly SweptTask[];
  readonly usage: UsageTotals;
  readonly activeMs: number;
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

/** Returns the current state of a run; undefined if it hasn't started, or if its manifest is damaged. */
type RunReader = (setting: SweepSetting, seed: number) => RunSummary | undefined;

/** Returns a function that reads the runs of the sweep in `directory` and caches complete ones. */
export function sweepReader(directory: string): RunReader {
  const completeRuns = new Map<string, RunSummary>();
  return ({ name }, seed) => {
    const path = join(directory, name, `seed-${seed}`);
    const run = completeRuns.get(path) ?? unlessRejected(() => summaryOf(path));
    if (isDone(run)) completeRuns.set(path, run);
    return run;
  };
}

/** True if a run reached its planned end; false if a limit of the sweep ended it, because that shrinks its budget. */
function isDone(run: RunSummary | undefined): run is RunSummary {
  const reason = run?.manifest.reason;
  return run?.status === 'completed' && !(reason?.kind === 'limit' && reason.limit.startsWith('sweep.'));
}

const confirmedOf = (run: RunSummary | undefined) => (isDone(run) ? (run.confirmed?.mean ?? null) : null);

export function sweepResult(
  { section, keys, name, seeds, settings }: Sweep,
  failures: SweepResult['failures'],
  now: Date,
  read: RunReader,
): SweepResult {
  const groups = settings.map((setting) => ({ setting, runs: seeds.map((seed) => read(setting, seed)) }));
  const runs = groups.flatMap((one) => one.runs);
  const tasks = [...groupBy(groups, ({ setting }) => setting.config.environment.id)].map(([id, own]) => {
    // The settings' environments may have different options.
    const range = commonRange(
      own.map(({ setting: { config } }) => ({ range: returnRange(config.environment, config.evaluation) })),
    );
    const environment = own.flatMap((one) => one.runs).find((run) => run)?.manifest.environment ?? id;
    const worst = worstReturn(own.flatMap((one) => one.runs.map(confirmedOf)));
    return { environment, range, settings: own.map((one) => figuresOf(one.setting, one.runs, range, worst)) };
  });
  const differences = compareWithBaselines(tasks);
  return {
    version: 1,
    kind: 'sweep',
    policyloop: packageVersion(),
    date: now.toISOString(),
    status: runs.every(isDone) && failures.length === 0 ? 'completed' : 'incomplete',
    name,
    method: section.method,
    keys: keys.map(({ key, values }) => ({ key, kind: values.kind })),
    seeds,
    tasks: tasks.map(({ environment, range, settings: own }, i): SweptTask => {
      const sweptSettings = own.filter(({ baseline }) => baseline === null);
      return {
        environment,
        settings: own,
        // A high mean over few seeds may be luck, so settings with more seeds rank first.
        best: rankSettings(own).find(({ confirmed }) => confirmed !== null)?.name ?? null,
        // Settings drawn at random hardly ever repeat the values of a key.
        effects: section.method === 'random' ? null : effectsOf(keys, sweptSettings, range),
        baselines: differences[i]!,
      };
    }),
    ...totalsOf(runs),
    failures,
  };
}

const totalsOf = (runs: readonly (RunSummary | undefined)[]) => ({
  usage: sumUsage(runs.flatMap((run) => run?.manifest.usage ?? [])),
  activeMs: runs.reduce((total, run) => total + (run?.manifest.activeMs ?? 0), 0),
});

function figuresOf(
  { baseline, comparedWith, config, name, values }: SweepSetting,
  runs: readonly (RunSummary | undefined)[],
  range: Interval,
  worst: number | null,
): SettingFigures {
  const isFailure = (run: RunSummary | undefined) =>
    run !== undefined && hasFailed(run, config.confirmation.candidates);
  const returns = runs.map((run) => confirmedOf(run) ?? (isFailure(run) ? worst : null));
  const knownReturns = returns.filter((value) => value !== null);
  const observed = runs.flatMap((run) => run?.observed ?? []);
  return {
    name,
    values,
    baseline,
    comparedWith,
    returns,
    runs: runs.filter(isDone).length,
    over: runs.filter((run) => isDone(run) || isFailure(run)).length,
    failed: runs.filter(isFailure).length,
    confirmed: summarize(knownReturns, range) ?? null,
    observed: observed.length === 0 ? null : mean(observed),
    usage: totalsOf(runs).usage,
  };
}
