/** Executes one run of a plan, within the limits that all runs of the plan share (`limits.total`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { assemble } from '../experiment/assemble.js';
import { spentBy } from '../experiment/budget/ledger.js';
import { createBudget, plus, type SharedBudget } from '../experiment/budget/limits.js';
import { languageModelIn } from '../experiment/proposer.js';
import { writeReport } from '../report/write-report.js';
import type { EndedCall, LimitName } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { planAround, runsBelow } from '../runs/finder.js';
import { inTurn } from '../runs/logs.js';
import { requireConfig } from '../runs/open-run.js';
import { openLogs, readManifest, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { readCallsLeft } from '../runs/underway.js';
import type { RunDirectory } from '../runs/writer.js';
import { lockRun } from '../storage/lock.js';
import { limitsFolder, type Part, PartBudget, type PartUse, writeUse } from './part.js';
import type { Plan } from './plan.js';
import { beginRun, closeLeft, isReported, type ReadyRun, reopenRun, runAndReport } from './single-run.js';

export class SharedLimits {
  readonly #all = createBudget();
  /** Present if other processes execute other parts. */
  #parts: PartBudget | undefined;
  /** Active milliseconds of each run that has started; for a run in progress, until its last complete iteration. */
  readonly #activeMs = new Map<string, () => number>();

  /**
   * Reads the usage of all runs from their logs.
   * @param runs directories of the runs; some may not exist yet
   * @param configOf returns a run's config, which determines what usage counts
   */
  constructor(runs: readonly string[], configOf: (path: string, index: number) => Config) {
    for (const [i, path] of runs.entries()) {
      if (!existsSync(join(path, runFiles.manifest))) continue;
      const { calls } = openLogs(path);
      const { arrived, failed } = readCallsLeft(path, calls);
      const paid = inTurn<EndedCall>(calls, failed, arrived);
      this.#all.spent = plus(this.#all.spent, spentBy(paid, configOf(path, i)));
      const { activeMs } = readManifest(path);
      this.#activeMs.set(path, () => activeMs);
    }
  }

  /** Shares the limits with all other parts of the plan in `directory`. */
  join(directory: string, part: Part): void {
    this.#parts = new PartBudget(directory, part, this.#all.spent, () => this.use.activeMs);
  }

  /** Total usage of the runs. */
  get use(): PartUse {
    const activeMs = [...this.#activeMs.values()].reduce((sum, own) => sum + own(), 0);
    return { ...this.#all, activeMs };
  }

  /** The limits as seen by the run in `directory`; its own usage counts towards the total. */
  of(directory: RunDirectory): SharedBudget {
    const activeMs = this.#activeMs;
    activeMs.set(directory.path, () => directory.manifest.activeMs);
    const otherMs = () =>
      [...activeMs].reduce((sum, [path, ms]) => (path === directory.path ? sum : sum + ms()), 0);
    if (this.#parts !== undefined) return this.#parts.of(otherMs);
    return {
      all: this.#all,
      get otherMs() {
        return otherMs();
      },
    };
  }
}

/** The limits that all runs of a plan share. */
export function limitsOf({ before = [], entries }: Plan, directory: string, part?: Part): SharedLimits {
  const all = [...before.filter(isIn(part)), ...entries];
  const runs = all.map(({ path }) => join(directory, path));
  const limits = new SharedLimits(runs, (_, i) => all[i]!.config);
  if (part !== undefined) limits.join(directory, part);
  return limits;
}

/** Writes the usage of every part before any part starts, so that parts that start later are already counted. */
export function writeUses({ before = [], entries }: Plan, directory: string, of: number): void {
  for (let index = 0; index < of; index++) {
    const part = { index, of };
    const own = [before, entries].flatMap((all) => all.filter(isIn(part)));
    const limits = new SharedLimits(
      own.map(({ path }) => join(directory, path)),
      (_, i) => own[i]!.config,
    );
    writeUse(directory, part, limits.use);
  }
}

/** Filters the runs of a part by their index. */
export const isIn = (part: Part | undefined) => (_: unknown, number: number) =>
  part === undefined || number % part.of === part.index;

/** Makes a run share its limits with other runs, and the rate limits of its models with its plan. */
export function sharing({ assembly, directory }: ReadyRun, shared: SharedLimits | undefined): ReadyRun {
  const plan = planAround(directory.path);
  for (const model of [languageModelIn(assembly.model), assembly.critic?.model])
    if (plan !== undefined) model?.rate?.share(join(plan.directory, limitsFolder));
  return { assembly: { ...assembly, ...(shared && { sharedBudget: shared.of(directory) }) }, directory };
}

/**
 * The plan-wide limits for a run of a plan that is resumed on its own; undefined if there are none.
 * @throws UserError if another process is executing the plan, because both would use the same budget
 */
export function limitsAround(
  path: string,
  { limits }: Config,
): { readonly shared: SharedLimits; readonly release: () => void } | undefined {
  const plan = limits.total === undefined ? undefined : planAround(path);
  if (plan === undefined) return undefined;
  const release = lockRun(plan.lock);
  try {
    const configOf = (run: string) =>
      loadConfig({ file: requireConfig(join(run, runFiles.config)), asWritten: true }).config;
    return { shared: new SharedLimits(runsBelow(plan.directory), configOf), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** A run to execute, as sent to a thread. */
export interface Job {
  /** Directory of the run. */
  readonly path: string;
  readonly config: Config;
  /** True if other runs execute concurrently; `evaluation.workers: auto` then starts at most one thread. */
  readonly beside: boolean;
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
      ? await reopenRun(path, config, context)
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
  return { kind: 'completed', played, ...(limit?.startsWith('total.') && { limit }) };
}
