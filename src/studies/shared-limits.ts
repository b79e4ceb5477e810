/** Limits that all runs of a plan share. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readOwnJson } from '../base/files/files.js';
import { lockRun } from '../base/files/lock.js';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import { loadConfig } from '../config/load.js';
import { spentBy } from '../experiment/budget/ledger.js';
import {
  type Amounts,
  type CallUsage,
  nothing,
  type SharedBudget,
  total,
} from '../experiment/budget/limits.js';
import type { EndedCall } from '../runs/calls.js';
import { planAround, runsBelow } from '../runs/finder.js';
import { inTurn } from '../runs/logs.js';
import { requireConfig } from '../runs/open-run.js';
import { openLogs, planFile, readManifest, runFiles } from '../runs/reader.js';
import { readCallsLeft } from '../runs/underway.js';
import type { RunDirectory } from '../runs/writer.js';
import { type Part, shareOf } from './part.js';
import type { Plan } from './plan.js';

/** The runs of a sweep, which share limits. */
export class SharedLimits {
  readonly limits: LimitsConfig;
  readonly #runs = new Map<string, RunUsage>();

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
    this.limits = limits;
    for (const [i, path] of runs.entries()) {
      if (!existsSync(join(path, runFiles.manifest))) continue;
      const { calls, entries } = openLogs(path);
      const { arrived, failed } = readCallsLeft(path, calls);
      const spent = spentBy(inTurn<EndedCall>(calls, failed, arrived), configOf(path, i));
      const { activeMs } = readManifest(path);
      this.#runs.set(path, {
        calls: { spent, inFlight: nothing },
        evaluations: entries.length,
        activeMs: () => activeMs,
      });
    }
  }

  /** Total usage of the runs. */
  get used(): Amounts {
    return total([...this.#runs.values()].map((run) => usageOf(run).spent));
  }

  /** The limits as seen by the run in `directory`. */
  of(directory: RunDirectory): SharedBudget {
    const { path } = directory;
    const { calls = unused, evaluations = 0 } = this.#runs.get(path) ?? {};
    // The time of a run in progress is that of its last complete iteration.
    const own: RunUsage = { calls, evaluations, activeMs: () => directory.manifest.activeMs };
    this.#runs.set(path, own);
    return {
      limits: this.limits,
      others: () => [...this.#runs.values()].filter((run) => run !== own).map(usageOf),
      join(ledger) {
        own.calls = ledger;
      },
      claim(count) {
        own.evaluations = count;
      },
    };
  }
}

interface RunUsage {
  calls: CallUsage;
  /** Made or claimed. */
  evaluations: number;
  readonly activeMs: () => number;
}

const unused: CallUsage = { spent: nothing, inFlight: nothing };

const usageOf = ({ activeMs, calls, evaluations }: RunUsage): CallUsage => ({
  spent: { ...calls.spent, evaluations, minutes: activeMs() / 60_000 },
  inFlight: calls.inFlight,
});

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
