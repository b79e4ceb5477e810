/** Executes the remaining runs of a plan, several at once. */

import { join } from 'node:path';
import pLimit from 'p-limit';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import { removeForeignLock } from '../base/files/lock.js';
import { openPage } from '../base/open-page.js';
import { plural } from '../base/text/numbers.js';
import { type LimitName, limitField } from '../runs/calls.js';
import { runFiles } from '../runs/reader.js';
import { watchStopRequests } from '../runs/stop-request.js';
import { isInPart, type Part } from './part.js';
import {
  isComplete,
  openPart,
  openPlan,
  type Plan,
  type PlanEntry,
  type PlanPlace,
  type ScheduleArguments,
} from './plan.js';
import { PlanDisplay } from './plan-display.js';
import { recordedEnd, runEntry } from './run-entry.js';
import { limitsOf } from './shared-limits.js';
import { runOnCluster } from './slurm.js';

interface PlanFailure<Entry extends PlanEntry = PlanEntry> {
  readonly entry: Entry;
  readonly message: string;
}

/** `elsewhere`: other processes execute the remaining runs. */
export type PlanStatus = 'completed' | 'interrupted' | 'failed' | 'elsewhere';

/** The outcome of a command that executed a plan. */
export interface PlanOutcome<Entry extends PlanEntry = PlanEntry> {
  /** Also `completed` if the remaining runs were skipped because of a plan-wide limit. */
  readonly status: PlanStatus;
  /** Number of runs that are now complete. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  readonly failures: readonly PlanFailure<Entry>[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName | undefined;
}

/** Formats one line per failure, for the result that a command prints. */
export const failureLines = ({ failures }: Pick<PlanOutcome, 'failures'>): readonly string[] =>
  failures.map(({ entry, message }) => `failed      ${entry.path}: ${message}`);

interface Reporting<Entry extends PlanEntry, Result> {
  /** Writes the results so far, given the failures. Called at the start and after each run, but not for a part. */
  readonly write: (failures: readonly PlanFailure<Entry>[]) => Result;
  /** Prints the results at the end. */
  readonly print: (result: Result, outcome: PlanOutcome<Entry>) => void;
  /** File name of the page that `write` writes. */
  readonly page: string;
}

/**
 * Executes the remaining runs of a plan and prints the results. After the first stop request, each run finishes its
 * iteration; after the second, it stops immediately. Returns the exit code.
 * @throws UserError if the directory can't be used
 * @throws system errors; any other error of a run counts as its failure
 */
export async function runPlan<Entry extends PlanEntry, Result>(
  plan: Plan<Entry>,
  given: PlanPlace,
  args: ScheduleArguments,
  context: CommandContext,
  { page, print, write }: Reporting<Entry, Result>,
): Promise<number> {
  const { cluster, json, open, part } = args;
  const runs = plan.entries.length;
  const place: PlanPlace = { ...given, record: (written) => ({ ...given.record(written), runs }) };
  const { directory } = place;
  /** Reports only the progress, because a later command will print the results. */
  const handOver = ({ complete, played, status }: PlanOutcome): number => {
    const progress: PlanProgress = { status, complete, played, out: shownPath(directory, context.cwd) };
    if (json) context.print(JSON.stringify(progress));
    return exitCodeOf(status);
  };
  if (part !== undefined) return handOver(await runPart(plan, place, part, args, context));
  if (cluster !== undefined) {
    // Create the directory but unlock it at once, because the processes that run its parts may start immediately.
    openPlan(plan.kind, place)();
    if (await runOnCluster(cluster, plan, directory, context)) {
      write([]);
      return handOver({ ...recordedOutcome(plan, directory), status: 'elsewhere' });
    }
  }
  const release = openPlan(plan.kind, place);
  let result: Result;
  let outcome: PlanOutcome<Entry>;
  try {
    result = write([]);
    if (cluster === undefined) {
      outcome = await runEntries(plan, directory, args, context, (failures) => {
        result = write(failures);
      });
    } else {
      outcome = recordedOutcome(plan, directory);
      result = write(outcome.failures);
    }
  } finally {
    release();
  }
  print(result, outcome);
  if (open === true) await openPage(join(directory, page), context);
  return exitCodeOf(outcome.status);
}

/** The last line of `--json` if a later command will report the combined results. */
interface PlanProgress extends Pick<PlanOutcome, 'status' | 'complete' | 'played'> {
  /** Directory of the runs. */
  readonly out: string;
}

/** The outcome of a plan that other processes executed. */
function recordedOutcome<Entry extends PlanEntry>(
  { entries }: Plan<Entry>,
  directory: string,
): PlanOutcome<Entry> {
  const ends = entries.map((entry) => ({ entry, end: recordedEnd(join(directory, entry.path)) }));
  const failures = ends.flatMap(({ end, entry }) =>
    end?.kind === 'failed' ? [{ entry, message: end.message }] : [],
  );
  return {
    status: failures.length > 0 ? 'failed' : 'completed',
    complete: ends.filter(({ end }) => end?.kind === 'completed').length,
    played: 0,
    failures,
    limit: ends.flatMap(({ end }) => (end?.kind === 'completed' ? (end.limit ?? []) : []))[0],
  };
}

/** Executes one part while other processes execute the rest; the command without `--part` combines the results. */
async function runPart<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  place: PlanPlace,
  part: Part,
  args: ScheduleArguments,
  context: CommandContext,
): Promise<PlanOutcome<Entry>> {
  const { directory } = place;
  openPart(place);
  const entries = plan.entries.filter(isInPart(part));
  // Only one process at a time runs a part, so locks from other machines are stale.
  for (const { path } of entries) removeForeignLock(join(directory, path, runFiles.lock));
  return runEntries({ ...plan, entries }, directory, args, context, () => undefined);
}

/** Executes runs in this thread; long episodes are played in a thread per run. */
async function runEntries<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  directory: string,
  { jobs = 1, json, part, quiet }: ScheduleArguments,
  outside: CommandContext,
  write: (failures: readonly PlanFailure<Entry>[]) => void,
): Promise<PlanOutcome<Entry>> {
  const { entries, notes = [], shape } = plan;
  const atOnce = Math.max(1, Math.min(jobs, entries.length));
  const shared = limitsOf(plan, directory, part);
  const display = new PlanDisplay(plan, directory, { json, quiet }, outside);
  const setting = { directory, isParallel: atOnce > 1, notes, shared };
  const failures: PlanFailure<Entry>[] = [];
  let [complete, played] = [0, 0];
  let limit: LimitName | undefined;
  if (!json && !quiet) {
    const before = entries.filter(({ path }) => isComplete(join(directory, path))).length;
    const place = shownPath(directory, outside.cwd);
    outside.note(
      `${plural(entries.length, 'run')} (${shape}) in ${place}${before > 0 ? `; ${before} already complete` : ''}${atOnce > 1 ? `; ${atOnce} at once` : ''}`,
    );
  }
  const requests = watchStopRequests(directory, outside.stop, part !== undefined);
  const { abort, finish } = requests.stop;
  /** Stops all runs after an unexpected error. */
  const broken = new AbortController();
  const context: CommandContext = {
    ...outside,
    note: (text) => display.noteOnce(text),
    stop: {
      finish: AbortSignal.any([finish, broken.signal]),
      abort: AbortSignal.any([abort, broken.signal]),
    },
  };

  const runOne = async (entry: Entry): Promise<void> => {
    const isSkipped = failures.some((failure) => failure.entry.arm === entry.arm);
    if (context.stop.finish.aborted || limit !== undefined || isSkipped) return;
    display.begin(entry);
    const end = await runEntry(entry, setting, (event) => display.event(entry, event), context);
    if (end.kind === 'failed') failures.push({ entry, message: end.message });
    const isOld = end.kind === 'completed' && end.isOld;
    if (end.kind === 'completed') {
      complete++;
      if (!isOld) played++;
      limit ??= end.limit;
    }
    display.end(entry, end);
    if (!isOld) write(failures);
  };

  try {
    const turn = pLimit(atOnce);
    const stopAll = (error: unknown) => {
      broken.abort();
      throw error;
    };
    const ended = await Promise.allSettled(entries.map((entry) => turn(() => runOne(entry).catch(stopAll))));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    const left = entries.length - complete;
    if (limit !== undefined && left > 0)
      display.note(`${limitField(limit)} is reached: ${plural(left, 'run')} skipped`);
  } finally {
    requests.close();
    display.close();
  }
  const isOver = complete === entries.length || limit !== undefined;
  const status = failures.length > 0 ? 'failed' : isOver ? 'completed' : 'interrupted';
  return { status, complete, played, failures, limit };
}
