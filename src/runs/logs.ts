/** Reads the logs of a run as streams, so memory use doesn't grow with the size of prompts and trajectories. */

import { basename } from 'node:path';
import { append } from '../base/append.js';
import { UserError } from '../base/errors.js';
import { endOfLines, keepFirstLines, truncateFile } from '../base/files/json-lines.js';
import { plural } from '../base/text/numbers.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { CallRecord } from './calls.js';
import type { LoggedEvent } from './events.js';
import {
  type CandidateId,
  type LogExtent,
  type LogFiles,
  type LogName,
  logItems,
  logNames,
  type OnBrokenLine,
  readCalls,
  scanLog,
} from './log-lines.js';

/** The content of a run up to its last complete iteration. Each loop over an iterable reads the file again. */
export interface RecordedRun {
  readonly entries: readonly BufferEntry[];
  readonly episodes: Iterable<EpisodeRecord>;
  /** All logged calls, including those of unfinished iterations. */
  readonly calls: Iterable<CallRecord>;
  readonly events: Iterable<LoggedEvent>;
  /** The last complete iteration; 0 before the first. */
  readonly iteration: number;
  /** Number of lines of each log that a resumed run keeps. */
  readonly lines: Readonly<Record<LogName, number>>;
  /** One message for each part that can't be used. */
  readonly faults: string[];
}

/** A run with all of its logs in memory. */
export interface LoadedRun extends RecordedRun {
  readonly episodes: readonly EpisodeRecord[];
  readonly calls: readonly CallRecord[];
  readonly events: readonly LoggedEvent[];
}

interface LogScan {
  readonly recorded: RecordedRun;
  readonly extents: Readonly<Record<LogName, LogExtent>>;
  /** The last iteration with evaluations, complete or not. */
  readonly lastEvaluated: number;
}

/**
 * Reads the evaluations and scans the other logs.
 * @param isTolerant if true, broken lines are skipped and listed in `faults`
 * @throws UserError with line and byte for a broken line, unless `isTolerant`
 */
export function scanLogs(files: LogFiles, isTolerant = false): LogScan {
  const faults: string[] = [];
  const onBroken: OnBrokenLine = isTolerant ? (error) => noteFault(faults, error) : undefined;
  const calls = scanLog(files, 'calls', onBroken);
  const iterationEnds: { iteration: number; lines: NonNullable<LoggedEvent['lines']>; index: number }[] = [];
  const events = scanLog(files, 'events', onBroken, (event: LoggedEvent, index) => {
    if (event.kind !== 'iteration-finished') return;
    iterationEnds.push({ iteration: event.iteration, lines: event.lines ?? unknownLines, index });
  });
  const allEntries: BufferEntry[] = [];
  const evaluations = scanLog(files, 'evaluations', onBroken, (entry: BufferEntry) => allEntries.push(entry));
  const episodePlaces: number[] = [];
  const episodes = scanLog(files, 'episodes', onBroken, ({ iteration, candidate }: CandidateId) =>
    episodePlaces.push(iteration, candidate),
  );
  const lastComplete = iterationEnds.findLast(
    ({ lines }) =>
      lines.evaluations <= evaluations.lines &&
      lines.episodes <= episodes.lines &&
      lines.calls <= calls.lines,
  );
  const iteration = lastComplete?.iteration ?? 0;
  const nextFinished = iterationEnds.find((end) => end.iteration > iteration);
  const completeEntries = allEntries.filter((entry) => entry.iteration <= iteration);
  const isKept = keptTest(completeEntries, iteration);
  let keptEpisodes = 0;
  for (let i = 0; i < episodePlaces.length; i += 2)
    if (isKept({ iteration: episodePlaces[i]!, candidate: episodePlaces[i + 1]! })) keptEpisodes++;
  const lines = {
    evaluations: completeEntries.length,
    episodes: keptEpisodes,
    calls: calls.lines,
    events: nextFinished?.index ?? events.lines,
  };
  const { entries, lost } = usableEntries(completeEntries, files);
  append(faults, lost);
  const recorded: RecordedRun = {
    entries,
    episodes: {
      [Symbol.iterator]: () => filterItems(logItems<EpisodeRecord>(files, 'episodes', onBroken), isKept),
    },
    calls: { [Symbol.iterator]: () => readCalls(files, lines.calls, onBroken) },
    events: { [Symbol.iterator]: () => logItems<LoggedEvent>(files, 'events', onBroken, lines.events) },
    iteration,
    lines,
    faults,
  };
  const extents = { calls, events, evaluations, episodes };
  return { recorded, extents, lastEvaluated: allEntries.at(-1)?.iteration ?? 0 };
}

/**
 * Prepares the logs of a run to be resumed: cuts torn lines and rolls back unfinished iterations, except their model
 * calls.
 * @throws UserError for a broken line, or if more than two iterations would be rolled back
 */
export function repairLogs(files: LogFiles): RecordedRun {
  const { recorded, extents, lastEvaluated } = scanLogs(files);
  rejectLostLines(files, recorded, lastEvaluated);
  for (const name of logNames) {
    if (recorded.lines[name] < extents[name].lines) keepFirstLines(files[name], recorded.lines[name]);
    else truncateFile(files[name], extents[name].end);
  }
  return recorded;
}

/** The evaluations up to an iteration. @throws UserError for a broken line or non-numeric returns */
export function evaluationsUntil(files: LogFiles, iteration: number): readonly BufferEntry[] {
  const entries: BufferEntry[] = [];
  for (const entry of logItems<BufferEntry>(files, 'evaluations', undefined)) {
    if (entry.iteration <= iteration) entries.push(entry);
  }
  const { entries: usable, lost } = usableEntries(entries, files);
  if (lost.length === 0) return usable;
  throw new UserError({ message: lost.join('; ') });
}

function noteFault(faults: string[], error: UserError): void {
  const [firstLine = ''] = error.message.split('\n');
  const fault = `${firstLine}; skipped`;
  // A log may be read more than once, but each fault is listed only once.
  if (!faults.includes(fault)) faults.push(fault);
}

/** Used for an iteration without line counts: no log reaches these, so the iteration counts as incomplete. */
const unknownLines = { evaluations: Infinity, episodes: Infinity, calls: Infinity };

/** Returns a test that is true for records of complete iterations and of evaluated warm-up policies. */
function keptTest(entries: readonly BufferEntry[], lastIteration: number) {
  const warmup = new Set(entries.flatMap((entry) => (entry.iteration === 0 ? [entry.candidate] : [])));
  return ({ iteration, candidate }: CandidateId) =>
    iteration <= lastIteration && (iteration > 0 || warmup.has(candidate));
}

/** Removes evaluations with non-numeric returns, which a damaged log may contain. */
function usableEntries(completeEntries: readonly BufferEntry[], files: LogFiles) {
  const entries = completeEntries.filter(
    ({ score, returns }) => Number.isFinite(score) && returns.every((value) => Number.isFinite(value)),
  );
  const count = completeEntries.length - entries.length;
  if (count === 0) return { entries: completeEntries, lost: [] };
  const fault = `${files.evaluations}: non-numeric returns in ${count} of ${plural(completeEntries.length, 'evaluation')}`;
  return { entries, lost: [fault] };
}

function* filterItems<T>(items: Iterable<T>, isKept: (item: T) => boolean): Generator<T, void> {
  for (const item of items) if (isKept(item)) yield item;
}

/**
 * A crash leaves at most two incomplete iterations: the interrupted one, and the one before it if that one's commit
 * was unfinished. If more are incomplete, other logs have lost lines, and rolling back would lose even more.
 */
function rejectLostLines(files: LogFiles, { iteration, lines }: RecordedRun, lastEvaluated: number): void {
  const file = files.evaluations;
  if (lastEvaluated <= iteration + 2) return;
  throw new UserError({
    file,
    line: lines.evaluations + 1,
    message:
      `this file has evaluations of ${lastEvaluated - iteration} iterations (from byte ${endOfLines(file, lines.evaluations)} on) ` +
      `that the other logs don't record as complete: lines of ` +
      `${basename(files.events)}, ${basename(files.episodes)} or ${basename(files.calls)} are missing`,
    hint: `restore those files from a copy, or remove this line and all later ones to resume after iteration ${iteration}`,
  });
}

/** Concatenates iterables; each loop over the result reads them again. */
export function concatenate<T>(...parts: readonly Iterable<T>[]): Iterable<T> {
  return {
    *[Symbol.iterator]() {
      for (const part of parts) yield* part;
    },
  };
}
