/** Limits that all runs of a plan share. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import { loadConfig } from '../config/load.js';
import { spentBy } from '../experiment/budget/ledger.js';
import { type Budget, createBudget, plus, type SharedBudget } from '../experiment/budget/limits.js';
import type { EndedCall, LimitKey } from '../runs/calls.js';
import { planAround, runsBelow } from '../runs/finder.js';
import { inTurn } from '../runs/logs.js';
import { requireConfig } from '../runs/open-run.js';
import { openLogs, planFile, readManifest, runFiles } from '../runs/reader.js';
import { readCallsLeft } from '../runs/underway.js';
import type { RunDirectory } from '../runs/writer.js';
import { readOwnJson } from '../storage/files.js';
import { lockRun } from '../storage/lock.js';
import { type Part, shareOf } from './part.js';
import type { Plan } from './plan.js';

export class SharedLimits {
  readonly #budget: Budget;
  /** The runs that have started; the time of a run in progress is that of its last complete iteration. */
  readonly #runs = new Map<string, { readonly activeMs: () => number; readonly evaluations: number }>();

  /**
   * Reads the usage of all runs from their logs.
   * @param runs directories of the runs; some may not exist yet
   * @param configOf returns a run's config, which determines what usage counts
   */
  constructor(
    limits: LimitsConfig,
    runs: readonly string[],
    configOf: (path: string, index: number) => Config,
  ) {
    this.#budget = createBudget(limits);
    for (const [i, path] of runs.entries()) {
      if (!existsSync(join(path, runFiles.manifest))) continue;
      const { calls, entries } = openLogs(path);
      const { arrived, failed } = readCallsLeft(path, calls);
      const paid = inTurn<EndedCall>(calls, failed, arrived);
      this.#budget.spent = plus(this.#budget.spent, spentBy(paid, configOf(path, i)));
      const { activeMs } = readManifest(path);
      this.#runs.set(path, { activeMs: () => activeMs, evaluations: entries.length });
    }
  }

  get limits(): LimitsConfig {
    return this.#budget.limits;
  }

  /** Total usage of the runs, by limit. */
  get used(): Readonly<Record<LimitKey, number>> {
    const runs = [...this.#runs.values()];
    const evaluations = runs.reduce((sum, run) => sum + run.evaluations, 0);
    const ms = runs.reduce((sum, { activeMs }) => sum + activeMs(), 0);
    return { ...this.#budget.spent, evaluations, minutes: ms / 60_000 };
  }

  /** The limits as seen by the run in `directory`. */
  of(directory: RunDirectory): SharedBudget {
    const { path } = directory;
    const budget = this.#budget;
    const runs = this.#runs;
    const claim = (evaluations: number) =>
      runs.set(path, { activeMs: () => directory.manifest.activeMs, evaluations });
    const others = () => [...runs].flatMap(([one, run]) => (one === path ? [] : [run]));
    claim(runs.get(path)?.evaluations ?? 0);
    return {
      budget,
      claim,
      get otherMs() {
        return others().reduce((sum, { activeMs }) => sum + activeMs(), 0);
      },
      get otherEvaluations() {
        return others().reduce((sum, { evaluations }) => sum + evaluations, 0);
      },
    };
  }
}

/** The limits that all runs of a plan share, or a part's share of them; undefined if there are none. */
export function limitsOf(
  { entries, limits }: Plan,
  directory: string,
  part?: Part,
): SharedLimits | undefined {
  if (limits === undefined || isUnlimited(limits)) return undefined;
  const runs = entries.map(({ path }) => join(directory, path));
  const own = part === undefined ? limits : shareOf(limits, part);
  return new SharedLimits(own, runs, (_, i) => entries[i]!.config);
}

/**
 * The limits of a sweep, for one of its runs that is resumed on its own; undefined if there are none.
 * @throws UserError if another process is executing the sweep, because both would use the same budget
 */
export function limitsAround(
  path: string,
): { readonly shared: SharedLimits; readonly release: () => void } | undefined {
  const plan = planAround(path);
  const limits = plan && recordedLimits(plan.directory);
  if (plan === undefined || limits === undefined || isUnlimited(limits)) return undefined;
  const release = lockRun(plan.lock);
  try {
    const configOf = (run: string) =>
      loadConfig({ file: requireConfig(join(run, runFiles.config)), asWritten: true }).config;
    return { shared: new SharedLimits(limits, runsBelow(plan.directory), configOf), release };
  } catch (error) {
    release();
    throw error;
  }
}

const isUnlimited = (limits: LimitsConfig) => Object.values(limits).every((limit) => limit === undefined);

const recordedLimits = (directory: string): LimitsConfig | undefined =>
  (readOwnJson(join(directory, planFile)) as { readonly limits?: LimitsConfig } | undefined)?.limits;
