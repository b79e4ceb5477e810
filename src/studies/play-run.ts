/** Executes one run of a plan, within the limits that all runs of a sweep share. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import { loadConfig } from '../config/load.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { assemble } from '../experiment/assemble.js';
import { spentBy } from '../experiment/budget/ledger.js';
import { type Budget, createBudget, plus, type SharedBudget } from '../experiment/budget/limits.js';
import { languageModelIn } from '../experiment/proposer.js';
import { writeReport } from '../report/write-report.js';
import type { EndedCall, LimitKey, LimitName } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { planAround, runsBelow } from '../runs/finder.js';
import { inTurn } from '../runs/logs.js';
import { requireConfig } from '../runs/open-run.js';
import { openLogs, planFile, readManifest, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { readCallsLeft } from '../runs/underway.js';
import type { RunDirectory } from '../runs/writer.js';
import { readOwnJson } from '../storage/files.js';
import { lockRun } from '../storage/lock.js';
import { type Part, shareOf } from './part.js';
import type { Plan } from './plan.js';
import { beginRun, closeLeft, isReported, type ReadyRun, reopenRun, runAndReport } from './single-run.js';

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

/** Filters the runs of a part by their index. */
export const isIn = (part: Part | undefined) => (_: unknown, number: number) =>
  part === undefined || number % part.of === part.index;

/** Makes a run share its limits with other runs. */
export const sharing = ({ assembly, directory }: ReadyRun, shared: SharedLimits | undefined): ReadyRun => ({
  assembly: { ...assembly, ...(shared && { sharedBudget: shared.of(directory) }) },
  directory,
});

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

/** A run to execute, as sent to a thread. */
export interface Job {
  /** Directory of the run. */
  readonly path: string;
  readonly config: Config;
  /** True if other runs execute concurrently; `evaluation.workers: auto` then starts at most one thread. */
  readonly beside: boolean;
  /** Number of threads, in all processes, that divide `model.requestsPerMinute`. */
  readonly senders: number;
  readonly notes: readonly string[];
}

export type RunEnd =
  | {
      readonly kind: 'completed';
      /** False if there was nothing left to do. */
      readonly played: boolean;
      /** The plan-wide limit that ended the run. */
      readonly limit?: LimitName;
    }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Executes a run to its end or until a stop request, unless it is already complete.
 * @throws system errors; other errors end the run with `failed`
 */
export async function playRun(
  job: Job,
  show: (event: RunEvent) => void,
  context: CommandContext,
  shared?: SharedLimits,
): Promise<RunEnd> {
  const { config, notes, path } = job;
  let played: boolean;
  try {
    const opened = existsSync(join(path, runFiles.manifest))
      ? await reopenRun(path, config, context, { limits: shared?.limits })
      : await beginRun(
          await assemble(config, context.env, undefined, { ask: context.stop.finish }),
          () => path,
          context,
          { notes },
        );
    played = opened !== undefined;
    if (!played) await closeLeft(path, context.now);
    if (!played && !isReported(path, readManifest(path))) await writeReport(path);
    if (opened !== undefined) {
      const { assembly: opening, directory } = sharing(opened, shared);
      for (const model of [languageModelIn(opening.model), opening.critic?.model])
        model?.rate?.divide(job.senders);
      const assembly = {
        ...opening,
        ...(job.beside && config.evaluation.workers === 'auto' && { workers: opening.workers?.alone() }),
      };
      const display = { show, close: () => undefined };
      await runAndReport(assembly, directory, display, context);
    }
  } catch (error) {
    if (error instanceof UserError || error instanceof EnvironmentError) {
      return { kind: 'failed', message: error.message };
    }
    if (error instanceof Error && 'syscall' in error) throw error;
    return { kind: 'failed', message: `unexpected error: ${messageOf(error)}` };
  }
  return endOf(job, played);
}

function endOf({ path }: Job, played: boolean): RunEnd {
  const { reason, status } = readManifest(path);
  if (status === 'interrupted') return { kind: 'interrupted' };
  if (status !== 'completed') {
    if (reason?.kind === 'no-proposals')
      return { kind: 'failed', message: describeReason({ reason, status }) };
    const message = reason !== undefined && 'message' in reason ? reason.message : 'the run failed';
    return { kind: 'failed', message };
  }
  const limit = reason !== undefined && 'limit' in reason ? reason.limit : undefined;
  return { kind: 'completed', played, ...(limit?.startsWith('sweep.') && { limit }) };
}
