/** Executes the remaining runs of a plan, several at once. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import { messageOf, UserError, unlessRejected } from '../base/errors.js';
import { removeForeignLock } from '../base/files/lock.js';
import { openPage } from '../base/open-page.js';
import { plural } from '../base/text/numbers.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { assemble } from '../experiment/setup/assemble.js';
import { type LimitName, limitField } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { watchStopRequests } from '../runs/stop-request.js';
import { describeReason } from '../runs/summary.js';
import { writeReport } from '../web/report/write-report.js';
import { isInPart } from './part.js';
import {
  commandOf,
  isComplete,
  openPart,
  openPlan,
  type Plan,
  type PlanEntry,
  type PlanStore,
  type RunEnd,
  type ScheduleArguments,
} from './plan.js';
import { createPlanDisplay } from './plan-display.js';
import { finishKilledRun, reopenRun } from './resume.js';
import { executeRun, prepareRun } from './run.js';
import { limitsOf, type SharedLimits } from './shared-limits.js';
import { runOnCluster } from './slurm.js';

export interface PlanFailure {
  readonly arm: string;
  readonly run: string;
  readonly message: string;
}

/** `elsewhere`: other processes execute the remaining runs. */
type PlanStatus = 'completed' | 'interrupted' | 'failed' | 'elsewhere';

/** The outcome of a command that executed a plan. */
export interface PlanOutcome {
  /** Also `completed` if the remaining runs were skipped because of a plan-wide limit. */
  readonly status: PlanStatus;
  /** Number of complete runs among those that the command reached before it ended. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  readonly failures: readonly PlanFailure[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName | undefined;
}

interface PlanReporter<Result> {
  /** Writes the results so far: at the start, after each run and at the end, but never for a part of the plan. */
  readonly write: (failures: readonly PlanFailure[]) => Result;
  /** Prints the results at the end. */
  readonly print: (result: Result, outcome: PlanOutcome) => void;
  /** File name of the page that `write` writes. */
  readonly page: string;
}

/**
 * Executes the remaining runs of a plan and prints the results. The first stop request lets calls and evaluations in
 * flight finish; the second aborts them. Returns the exit code.
 * @throws UserError if the directory can't be used, or a cluster job can't be submitted or queried
 * @throws system errors; any other error of a run counts as its failure
 */
export async function runPlan<Result>(
  plan: Plan,
  givenStore: PlanStore,
  args: ScheduleArguments,
  context: CommandContext,
  { page, print, write }: PlanReporter<Result>,
): Promise<number> {
  const { cluster, json, open, part } = args;
  const { entries, kind } = plan;
  const store: PlanStore = {
    ...givenStore,
    record: (written) => ({ ...givenStore.record(written), runs: entries.length }),
  };
  const { directory } = store;
  /** Reports only the progress, because a later command will print the results. */
  const report = ({ complete, played, status }: PlanOutcome): number => {
    const out = shownPath(directory, context.cwd);
    if (json) context.print(JSON.stringify({ status, complete, played, out }));
    return exitCodeOf(status);
  };
  if (part !== undefined) {
    openPart(store);
    const own = entries.filter(isInPart(part));
    // Only one process at a time runs a part, so locks from other machines are stale.
    for (const { path } of own) removeForeignLock(join(directory, path, runFiles.lock));
    return report(await runEntries({ ...plan, entries: own }, directory, args, context, () => undefined));
  }
  if (cluster !== undefined) {
    // Create the directory but unlock it at once, because the processes that run its parts may start immediately.
    openPlan(kind, store, commandOf(context))();
    if (await runOnCluster(cluster, plan, directory, context)) {
      write([]);
      return report({ ...recordedOutcome(plan, directory), status: 'elsewhere' });
    }
  }
  const release = openPlan(kind, store, commandOf(context));
  let result: Result;
  let outcome: PlanOutcome;
  try {
    write([]);
    outcome =
      cluster === undefined
        ? await runEntries(plan, directory, args, context, write)
        : recordedOutcome(plan, directory);
    result = write(outcome.failures);
  } finally {
    release();
  }
  print(result, outcome);
  if (open === true) await openPage(join(directory, page), context);
  return exitCodeOf(outcome.status);
}

function outcomeOf(entries: readonly PlanEntry[], ends: ReadonlyMap<PlanEntry, RunEnd>): PlanOutcome {
  const failures = [...ends].flatMap(([{ arm, path: run }, { kind, message = '' }]) =>
    kind === 'failed' ? [{ arm, run, message }] : [],
  );
  const completed = [...ends.values()].filter(({ kind }) => kind === 'completed');
  const limit = completed.find((end) => end.limit)?.limit;
  const isOver = completed.length === entries.length || limit !== undefined;
  return {
    status: failures.length > 0 ? 'failed' : isOver ? 'completed' : 'interrupted',
    complete: completed.length,
    played: completed.filter(({ isOld }) => isOld !== true).length,
    failures,
    limit,
  };
}

/** Returns the outcome of a plan that other processes executed. */
function recordedOutcome({ entries }: Plan, directory: string): PlanOutcome {
  const ends = entries.flatMap((entry): [PlanEntry, RunEnd][] => {
    const path = join(directory, entry.path);
    // A run without a readable manifest hasn't ended.
    const isOver = unlessRejected(() => readManifest(path).status !== 'running');
    return isOver === true ? [[entry, { ...endOf(path), isOld: true }]] : [];
  });
  return outcomeOf(entries, new Map(ends));
}

/** Executes runs in this thread; worker threads may play their episodes. */
async function runEntries(
  plan: Plan,
  directory: string,
  { jobs = 1, json, part, quiet }: ScheduleArguments,
  outerContext: CommandContext,
  write: (failures: readonly PlanFailure[]) => void,
): Promise<PlanOutcome> {
  const { entries, shape } = plan;
  const maxRuns = Math.max(1, Math.min(jobs, entries.length));
  const limits = limitsOf(plan, directory, part);
  const display = createPlanDisplay(plan, directory, { json, quiet }, outerContext);
  const ends = new Map<PlanEntry, RunEnd>();
  const outcome = () => outcomeOf(entries, ends);
  if (!json && !quiet) {
    const doneBefore = entries.filter(({ path }) => isComplete(join(directory, path))).length;
    const shownDirectory = shownPath(directory, outerContext.cwd);
    outerContext.note(
      `${plural(entries.length, 'run')} (${shape}) in ${shownDirectory}${doneBefore > 0 ? `; ${doneBefore} already complete` : ''}${maxRuns > 1 ? `; ${maxRuns} at once` : ''}`,
    );
  }
  const stopRequests = watchStopRequests(directory, outerContext.stop, part !== undefined);
  const { abort, finish } = stopRequests.stop;
  /** Stops all runs after an unexpected error. */
  const crashController = new AbortController();
  const context: CommandContext = {
    ...outerContext,
    note: (text) => display.note(text),
    stop: {
      finish: AbortSignal.any([finish, crashController.signal]),
      abort: AbortSignal.any([abort, crashController.signal]),
    },
  };

  const runOne = async (entry: PlanEntry): Promise<void> => {
    const { failures, limit } = outcome();
    const isSkipped = failures.some(({ arm }) => arm === entry.arm);
    if (context.stop.finish.aborted || limit !== undefined || isSkipped) return;
    display.begin(entry);
    const show = (event: RunEvent) => display.event(entry, event);
    const end = await runEntry(entry, plan, directory, { show, limits, isAlone: maxRuns === 1 }, context);
    ends.set(entry, end);
    display.end(entry, end);
    if (end.isOld !== true) write(outcome().failures);
  };

  try {
    const queue = pLimit(maxRuns);
    const stopAll = (error: unknown) => {
      crashController.abort();
      throw error;
    };
    const ended = await Promise.allSettled(entries.map((entry) => queue(() => runOne(entry).catch(stopAll))));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    const { complete, limit } = outcome();
    if (limit !== undefined && complete < entries.length)
      display.note(`${limitField(limit)} is reached: ${plural(entries.length - complete, 'run')} skipped`);
  } finally {
    stopRequests.close();
    display.close();
  }
  return outcome();
}

/**
 * Executes a run to its end or until a stop request, unless it is already complete.
 * @throws system errors; other errors end the run with `failed`
 */
async function runEntry(
  { config, path: name }: PlanEntry,
  { notes = [] }: Plan,
  directory: string,
  {
    isAlone,
    limits,
    show,
  }: { isAlone: boolean; limits: SharedLimits | undefined; show: (event: RunEvent) => void },
  context: CommandContext,
): Promise<RunEnd> {
  const path = join(directory, name);
  try {
    const run = existsSync(join(path, runFiles.manifest))
      ? await reopenRun(path, config, context, { shared: limits })
      : await prepareRun(
          await assemble(config, context.env, undefined, { ask: context.stop.finish }),
          () => path,
          context,
          notes,
        );
    if (typeof run === 'string') {
      await finishKilledRun(path, context.now, writeReport);
      return { ...endOf(path), isOld: true };
    }
    if (!isAlone && config.evaluation.workers === 'auto') run.assembly.workers?.useOneThread();
    await executeRun(run, { show, close: () => undefined }, context, limits);
    return endOf(path);
  } catch (error) {
    if (error instanceof UserError || error instanceof EnvironmentError)
      return { kind: 'failed', message: error.message };
    if (error instanceof Error && 'syscall' in error) throw error;
    return { kind: 'failed', message: `unexpected error: ${messageOf(error)}` };
  }
}

function endOf(path: string): RunEnd {
  const { reason, status } = readManifest(path);
  if (status === 'interrupted') return { kind: status };
  if (status === 'completed') {
    const limit = reason !== undefined && 'limit' in reason ? reason.limit : undefined;
    return { kind: status, ...(limit?.startsWith('sweep.') && { limit }) };
  }
  if (reason?.kind === 'no-proposals') return { kind: 'failed', message: describeReason({ reason, status }) };
  return { kind: 'failed', message: reason && 'message' in reason ? reason.message : 'the run failed' };
}
