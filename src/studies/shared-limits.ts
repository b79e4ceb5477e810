/** Limits that all runs of a plan share. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/errors.js';
import { readOwnJson } from '../base/files/files.js';
import type { LimitsConfig } from '../config/limits.js';
import { stageModelsOf } from '../config/stages.js';
import { type CallUsage, noSpend, runUsageConfig, type SharedBudget, spentBy } from '../proposers/budget.js';
import { enclosingPlan } from '../runs/finder.js';
import { concatenate } from '../runs/logs.js';
import { openLogs, planFile, readManifest, runFiles } from '../runs/reader.js';
import type { RunDirectory } from '../runs/writer.js';
import { unloggedCalls } from '../runs/writer.js';
import { divideLimits, type PlanPart } from './part.js';
import type { Plan, PlanEntry } from './plan.js';

/** The limits that the runs of a sweep share, with the usage of each run. */
export class SharedLimits {
  readonly limits: LimitsConfig;
  readonly #runs = new Map<string, RunUsage>();

  /** Reads the usage of all runs from their logs. */
  constructor(limits: LimitsConfig, entries: readonly PlanEntry[], directory: string) {
    this.limits = limits;
    for (const { config, path: name } of entries) {
      const path = join(directory, name);
      if (!existsSync(join(path, runFiles.manifest))) continue;
      const { calls, entries } = openLogs(path);
      const models = runUsageConfig(config.model, stageModelsOf(config));
      const spentUsage = spentBy(concatenate(calls, unloggedCalls(path, calls)), models);
      const { activeMs } = readManifest(path);
      this.#runs.set(path, {
        calls: { spent: spentUsage, inFlight: noSpend },
        evaluations: entries.length,
        activeMs: () => activeMs,
      });
    }
  }

  /** Returns the budget of the run in `directory`: the shared limits, and what the other runs have used. */
  budgetFor(directory: RunDirectory): SharedBudget {
    const { path } = directory;
    const { calls = noUsage, evaluations = 0 } = this.#runs.get(path) ?? {};
    // The time of a run in progress is counted up to its last complete iteration.
    const ownUsage: RunUsage = { calls, evaluations, activeMs: () => directory.manifest.activeMs };
    this.#runs.set(path, ownUsage);
    return {
      limits: this.limits,
      others: () => [...this.#runs.values()].filter((run) => run !== ownUsage).map(usageOf),
      join(ledger) {
        ownUsage.calls = ledger;
      },
      claim(count) {
        ownUsage.evaluations = count;
      },
    };
  }
}

interface RunUsage {
  calls: CallUsage;
  /** Number of evaluations made or claimed. */
  evaluations: number;
  readonly activeMs: () => number;
}

const noUsage: CallUsage = { spent: noSpend, inFlight: noSpend };

const usageOf = ({ activeMs, calls, evaluations }: RunUsage): CallUsage => ({
  spent: { ...calls.spent, evaluations, minutes: activeMs() / 60_000 },
  inFlight: calls.inFlight,
});

/** Returns the limits that all runs of a plan share, or a part's share of them; undefined if there are none. */
export function limitsOf(plan: Plan, directory: string, part?: PlanPart): SharedLimits | undefined {
  const { entries, limits = {} } = plan;
  if (!hasLimits(plan)) return undefined;
  return new SharedLimits(part === undefined ? limits : divideLimits(limits, part), entries, directory);
}

/** @throws UserError if the run at `path` belongs to a sweep with limits, which only the sweep's command can count */
export function requireOwnLimits(path: string): void {
  const plan = enclosingPlan(path);
  const recorded = plan && readOwnJson(join(plan.directory, planFile));
  if (!hasLimits(recorded as Pick<Plan, 'limits'> | undefined)) return;
  throw new UserError({
    message: 'this run shares limits with the other runs of its sweep',
    value: path,
    hint: "resume it by repeating the sweep's command",
  });
}

export const hasLimits = (plan: Pick<Plan, 'limits'> | undefined): boolean =>
  Object.values(plan?.limits ?? {}).some((limit) => limit !== undefined);
