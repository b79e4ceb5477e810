/** Executes the remaining runs of a plan, several at once. */

import { join } from 'node:path';
import pLimit from 'p-limit';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import { languageModelOf } from '../config/model.js';
import { plural } from '../format/numbers.js';
import { sharesProcess } from '../models/local/settings.js';
import { type LimitName, limitField } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { runFiles } from '../runs/reader.js';
import { type StopRequests, watchStopRequests } from '../runs/stop-request.js';
import { removeForeignLock } from '../storage/lock.js';
import { PlanDisplay } from './display.js';
import { type Part, type PlanEnd, writePartEnd } from './part.js';
import {
  isComplete,
  openPart,
  openPlan,
  type Plan,
  type PlanEntry,
  type PlanPlace,
  type PlayArguments,
} from './plan.js';
import { isIn, type Job, limitsOf, playRun } from './play-run.js';
import { PlayerThread } from './thread.js';

interface PlanFailure<Entry extends PlanEntry = PlanEntry> {
  readonly entry: Entry;
  readonly message: string;
}

/** `elsewhere`: other processes execute the remaining runs. */
export type PlayedStatus = 'completed' | 'interrupted' | 'failed' | 'elsewhere';

/** The outcome of a command that ran a plan. */
export interface Played<Entry extends PlanEntry = PlanEntry> {
  /** Also `completed` if the remaining runs were skipped because of a plan-wide limit. */
  readonly status: PlayedStatus;
  /** Number of runs that are now complete. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  readonly failures: readonly PlanFailure<Entry>[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName;
}

/** Formats one line per failure, for the result that a command prints. */
export const failureLines = ({ failures }: Pick<Played, 'failures'>): readonly string[] =>
  failures.map(({ entry, message }) => `failed      ${entry.path}: ${message}`);

/** True if a run must stay in the main thread, because its local model batches the calls of several runs. */
function staysHere({ config: { model } }: PlanEntry): boolean {
  const reader = languageModelOf(model);
  return reader?.provider === 'local' && sharesProcess(reader);
}

/**
 * Executes the remaining runs of a plan. After the first stop request, each run finishes its iteration; after the second,
 * it stops immediately.
 * @param write writes the results so far, given the failures; not called for a part
 * @throws UserError if the directory can't be used
 * @throws system errors; any other error of a run counts as its failure
 */
export async function playPlan<Entry extends PlanEntry, Result>(
  plan: Plan<Entry>,
  given: PlanPlace,
  args: PlayArguments,
  context: CommandContext,
  write: (failures: readonly PlanFailure<Entry>[]) => Result,
): Promise<Played<Entry> & { readonly result?: Result }> {
  const { elsewhere, part } = args;
  const runs = plan.entries.length;
  const place: PlanPlace = { ...given, record: (written) => ({ ...given.record(written), runs }) };
  const { directory } = place;
  if (part !== undefined) return playPart(plan, place, part, args, context);
  let outcome: PlanEnd = { failures: [] };
  if (elsewhere !== undefined) {
    // Create the directory but unlock it at once, because the processes that run its parts may start immediately.
    openPlan(plan.kind, place)();
    const end = await elsewhere(plan, directory);
    if (end === undefined) {
      write([]);
      return { ...playedElsewhere(plan, directory), status: 'elsewhere' };
    }
    outcome = end;
  }
  const release = openPlan(plan.kind, place);
  try {
    const isUnfinished = outcome.failures.length > 0 || outcome.limit !== undefined;
    const played = isUnfinished
      ? playedElsewhere(plan, directory, outcome)
      : await playRuns(plan, directory, args, context, write);
    return { ...played, result: write(played.failures) };
  } finally {
    release();
  }
}

/** The state of a plan that other processes execute, including the failures and the limit that they reported. */
function playedElsewhere<Entry extends PlanEntry>(
  { entries }: Plan<Entry>,
  directory: string,
  { failures, limit }: PlanEnd = { failures: [] },
): Played<Entry> {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  return {
    status: failures.length > 0 ? 'failed' : 'completed',
    complete: entries.filter(({ path }) => isComplete(join(directory, path))).length,
    played: 0,
    failures: failures.map(({ run, message }) => ({ entry: byPath.get(run)!, message })),
    ...(limit && { limit }),
  };
}

/** Executes one part while other processes execute the rest; the command without `--part` combines the results. */
async function playPart<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  place: PlanPlace,
  part: Part,
  args: PlayArguments,
  context: CommandContext,
): Promise<Played<Entry>> {
  const { directory } = place;
  openPart(place);
  const entries = plan.entries.filter(isIn(part));
  // Only one process at a time runs a part, so locks from other machines are stale.
  for (const { path } of entries) removeForeignLock(join(directory, path, runFiles.lock));
  const played = await playRuns({ ...plan, entries }, directory, args, context, () => undefined);
  if (played.status !== 'interrupted') {
    const failures = played.failures.map(({ entry, message }) => ({ run: entry.path, message }));
    const { limit } = played;
    writePartEnd(directory, part, { failures, limit }, new Set(entries.map(({ path }) => path)));
  }
  return played;
}

/** Maximum share of the time spent on writing results that aren't final yet. */
const writeShare = 0.05;

/**
 * Executes runs, concurrent ones in separate threads. Runs that share a local model or limits stay in the main thread,
 * which has the model and the budget.
 */
async function playRuns<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  directory: string,
  { jobs = 1, json, part, quiet }: PlayArguments,
  outside: CommandContext,
  write: (failures: readonly PlanFailure<Entry>[]) => unknown,
): Promise<Played<Entry>> {
  const { entries, notes = [], shape } = plan;
  const atOnce = Math.max(1, Math.min(jobs, entries.length));
  const shared = limitsOf(plan, directory, part);
  const display = new PlanDisplay(plan, directory, { json, quiet }, outside);
  const failures: PlanFailure<Entry>[] = [];
  let [complete, played, nextWrite] = [0, 0, 0];
  let limit: LimitName | undefined;
  if (!json && !quiet) {
    const before = entries.filter(({ path }) => isComplete(join(directory, path))).length;
    const place = shownPath(directory, outside.cwd);
    outside.note(
      `${plural(entries.length, 'run')} (${shape}) in ${place}${before > 0 ? `; ${before} already complete` : ''}${atOnce > 1 ? `; ${atOnce} at once` : ''}`,
    );
  }
  const requests = watchStopRequests(directory, outside.stop, part !== undefined);
  /** Stops all runs after an unexpected error. */
  const broken = new AbortController();
  const context = contextOfRuns(outside, display, requests.stop, broken.signal);
  const idle: PlayerThread[] = [];

  const playOne = async (entry: Entry): Promise<void> => {
    const isSkipped = failures.some((failure) => failure.entry.arm === entry.arm);
    if (context.stop.finish.aborted || limit !== undefined || isSkipped) return;
    const isApart = atOnce > 1 && shared === undefined && !staysHere(entry);
    const job: Job = {
      path: join(directory, entry.path),
      config: entry.config,
      beside: atOnce > 1,
      senders: (part?.of ?? 1) * (isApart ? atOnce : 1),
      notes,
    };
    const thread = isApart ? (idle.pop() ?? new PlayerThread(context)) : undefined;
    const show = (event: RunEvent) => display.event(entry, event);
    display.begin(entry);
    const end = await (thread?.play(job, show) ?? playRun(job, show, context, shared)).finally(() => {
      if (thread !== undefined) idle.push(thread);
    });
    if (end.kind === 'failed') failures.push({ entry, message: end.message });
    if (end.kind === 'completed') {
      complete++;
      if (end.played) played++;
      limit ??= end.limit;
    }
    display.end(entry, end);
    const began = outside.milliseconds();
    const isOld = end.kind === 'completed' && !end.played;
    if (isOld || began < nextWrite) return;
    write(failures);
    const ended = outside.milliseconds();
    nextWrite = ended + (ended - began) / writeShare;
  };

  try {
    write(failures);
    const turn = pLimit(atOnce);
    const stopAll = (error: unknown) => {
      broken.abort();
      throw error;
    };
    const ended = await Promise.allSettled(entries.map((entry) => turn(() => playOne(entry).catch(stopAll))));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    const left = entries.length - complete;
    if (limit !== undefined && left > 0)
      display.note(`${limitField(limit)} is reached: ${plural(left, 'run')} skipped`);
  } finally {
    requests.close();
    display.close();
    for (const thread of idle) await thread.close();
  }
  const isOver = complete === entries.length || limit !== undefined;
  return {
    status: failures.length > 0 ? 'failed' : isOver ? 'completed' : 'interrupted',
    ...{ complete, played, failures },
    ...(limit && { limit }),
  };
}

/** Stops all runs if one breaks, and shows a note that several runs repeat only once. */
function contextOfRuns(
  context: CommandContext,
  display: Pick<PlanDisplay, 'note'>,
  { abort, finish }: StopRequests,
  broken: AbortSignal,
): CommandContext {
  const said = new Set<string>();
  return {
    ...context,
    note: (text) => {
      if (!said.has(text)) display.note(text);
      said.add(text);
    },
    stop: { finish: AbortSignal.any([finish, broken]), abort: AbortSignal.any([abort, broken]) },
  };
}

/** The last line of `--json` if a later command will report the combined results. */
interface PlanProgress {
  readonly status: PlayedStatus;
  /** Number of complete runs. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  /** Directory of the runs. */
  readonly out: string;
}

/** True if a later command will report the combined results. */
export const isHandedOver = ({ status }: Played, { part }: PlayArguments): boolean =>
  part !== undefined || status === 'elsewhere';

/** @returns the exit code */
export function reportProgress(
  { complete, played, status }: Played,
  directory: string,
  { json }: PlayArguments,
  context: CommandContext,
): number {
  const progress: PlanProgress = { status, complete, played, out: shownPath(directory, context.cwd) };
  if (json) context.print(JSON.stringify(progress));
  return exitCodeOf(status);
}
