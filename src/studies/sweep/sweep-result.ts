/** The result of a sweep: the confirmed returns of its settings, and the effects of its keys. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../base/package.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import { addUsage } from '../../experiment/budget/usage.js';
import type { UsageTotals } from '../../runs/calls.js';
import { runFiles } from '../../runs/reader.js';
import { summaryOf } from '../../runs/summary.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { firstLargest, largest, mean, smallest } from '../../statistics/descriptive.js';
import { type Summary, summarize } from '../../statistics/paired.js';
import { drawnEffects, type Effects, gridEffects, listEffects, type Measured } from './effects.js';
import type { Dropped } from './halving.js';
import type { SweptKey } from './settings.js';
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

export interface SettingFigures {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  /** Number of complete runs. */
  readonly runs: number;
  /** Confirmed returns in the order of the seeds; null if a seed has none. */
  readonly returns: readonly (number | null)[];
  readonly confirmed: Summary | null;
  /** Mean of the runs' highest observed returns; biased upwards, because each is the maximum of noisy means. */
  readonly observed: number | null;
  readonly usage: UsageTotals;
  /** Set if halving dropped the setting: after how many seeds, and why. */
  readonly dropped: { readonly after: number; readonly because: Dropped } | null;
}

/** Content of `sweep.json`. */
export interface SweepResult {
  readonly version: 1;
  readonly kind: 'sweep';
  readonly policyloop: string;
  /** Time of writing, ISO 8601. */
  readonly date: string;
  /** `incomplete` if a run that the method requires is missing or failed. */
  readonly status: 'completed' | 'incomplete';
  readonly name: string;
  readonly environment: string;
  readonly method: string;
  /** How the values of each key were chosen; absent in results of earlier versions. */
  readonly keys?: readonly { readonly key: string; readonly kind: SweptKey['values']['kind'] }[];
  readonly seeds: readonly number[];
  readonly settings: readonly SettingFigures[];
  /** Name of the setting with the highest mean among the settings with the most seeds; null if no run is complete. */
  readonly best: string | null;
  readonly effects: Effects | null;
  readonly usage: UsageTotals;
  readonly activeMs: number;
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

export type ReadRuns = (setting: SweepSetting, seed: number) => ReadRun | undefined;

/** Returns a function that reads the runs of the sweep in `directory` and caches complete ones. */
export function sweepReader(directory: string): ReadRuns {
  const complete = new Map<string, ReadRun>();
  return ({ name }, seed) => {
    const path = join(directory, name, `seed-${seed}`);
    const known = complete.get(path);
    if (known !== undefined) return known;
    if (!existsSync(join(path, runFiles.manifest))) return undefined;
    const { confirmed, manifest, observed, status } = summaryOf(path);
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

/** Range of an episode's return over all settings, whose environments may have different options. */
export function rangeOf(settings: readonly SweepSetting[]): Interval {
  const ranges = settings.map(({ config }) => returnRange(config.environment, config.evaluation));
  return [smallest(ranges.map(([low]) => low)), largest(ranges.map(([, high]) => high))];
}

/** The settings that halving dropped. */
export type Drops = ReadonlyMap<string, { readonly after: number; readonly because: Dropped }>;

export function sweepResult(
  sweep: Sweep,
  {
    drops,
    failures,
    isWhole,
    now,
    read,
  }: {
    readonly drops: Drops;
    readonly failures: SweepResult['failures'];
    /** True if all runs that the method requires are complete. */
    readonly isWhole: boolean;
    readonly now: Date;
    readonly read: ReadRuns;
  },
): SweepResult {
  const { how, keys, name, seeds } = sweep;
  const range = rangeOf(sweep.settings);
  const all = sweep.settings.map((setting) => ({ setting, runs: seeds.map((seed) => read(setting, seed)) }));
  const settings = all.map(({ setting, runs }): SettingFigures => {
    const returns = runs.map((run) => run?.confirmed ?? null);
    const observed = runs.flatMap((run) => run?.observed ?? []);
    return {
      name: setting.name,
      values: setting.values,
      runs: runs.filter((run) => run?.isDone === true).length,
      returns,
      confirmed:
        summarize(
          returns.flatMap((value) => value ?? []),
          range,
        ) ?? null,
      observed: observed.length === 0 ? null : mean(observed),
      usage: addUsage(runs.flatMap((run) => run?.usage ?? [])),
      dropped: drops.get(setting.name) ?? null,
    };
  });
  const measured = settings.map(({ name, returns, values }) => ({ name, values, confirmed: returns }));
  const runs = all.flatMap((one) => one.runs);
  return {
    version: 1,
    kind: 'sweep',
    policyloop: version(),
    date: now.toISOString(),
    status: isWhole && failures.length === 0 ? 'completed' : 'incomplete',
    name,
    environment:
      runs.find((run) => run !== undefined)?.environment ?? sweep.settings[0]!.config.environment.id,
    method: how.method,
    keys: keys.map(({ key, values }) => ({ key, kind: values.kind })),
    seeds,
    settings,
    best: bestOf(settings),
    effects: effectsOf(sweep, keys, measured, range) ?? null,
    usage: addUsage(runs.flatMap((run) => run?.usage ?? [])),
    activeMs: runs.reduce((total, run) => total + (run?.activeMs ?? 0), 0),
    failures,
  };
}

/** Considers only the settings with the most seeds, because a high mean over few seeds may be luck. */
function bestOf(settings: readonly SettingFigures[]): string | null {
  const most = largest([0, ...settings.map(({ confirmed }) => confirmed?.count ?? 0)]);
  if (most === 0) return null;
  const contenders = settings.filter(({ confirmed }) => confirmed?.count === most);
  return contenders[firstLargest(contenders.map(({ confirmed }) => confirmed!.mean))]!.name;
}

/** With halving, only the first round runs all settings, so effects are estimated from it. */
function effectsOf(
  { how }: Sweep,
  keys: Sweep['keys'],
  measured: readonly Measured[],
  range: Interval,
): Effects | undefined {
  if (how.method === 'list') return listEffects(measured, range);
  const isDrawn = how.method === 'random' || (how.method === 'halving' && how.samples !== undefined);
  if (!isDrawn) return gridEffects(keys, measured, range);
  if (how.method !== 'halving') return drawnEffects(keys, measured);
  const first = measured.map((one) => ({ ...one, confirmed: one.confirmed.slice(0, how.first) }));
  return drawnEffects(keys, first);
}
