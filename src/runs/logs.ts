/** The logs of a run, read as streams: what a run holds in memory does not grow with its prompts and trajectories. */
import { basename } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import {
  brokenLine,
  cutAfter,
  eachJsonLine,
  eachLine,
  endOfLine,
  itemOf,
  keepFirstLines,
} from '../storage/json-lines.js';
import { CallDecoder, type WrittenCall } from './call-lines.js';
import type { CallRecord, EndedCall, LoggedEvent } from './events.js';

/** The content of a run, consistent up to its last complete iteration. What is iterable is read anew each time. */
export interface RecordedRun {
  readonly entries: readonly BufferEntry[];
  readonly episodes: Iterable<EpisodeRecord>;
  /** All calls, those of an unfinished iteration too: they were paid for. */
  readonly calls: Iterable<CallRecord>;
  /** Answers of an unfinished iteration of which nothing was made yet; only of a run that is to go on. */
  readonly arrived?: readonly EndedCall[];
  readonly events: Iterable<LoggedEvent>;
  /** The last complete iteration; 0 before the first. */
  readonly iteration: number;
  /** Lines of each log that belong to it. */
  readonly lines: Readonly<Record<LogName, number>>;
  /** What can't be used of it, in words: a line each. */
  readonly faults: readonly string[];
}

/** A run with all of its logs in memory. */
export interface WholeRun extends RecordedRun {
  readonly episodes: readonly EpisodeRecord[];
  readonly calls: readonly CallRecord[];
  readonly events: readonly LoggedEvent[];
}

const logNames = ['evaluations', 'episodes', 'calls', 'events'] as const;
type LogName = (typeof logNames)[number];

/** Paths of the logs of a run. */
export type LogFiles = Readonly<Record<LogName, string>>;

interface Scan {
  readonly recorded: RecordedRun;
  /** What stands in each log. */
  readonly found: Readonly<Record<LogName, Extent>>;
  /** The last iteration of which there are evaluations, complete or not. */
  readonly lastEvaluated: number;
}

/** Complete lines of a log, and the byte after them. */
interface Extent {
  readonly lines: number;
  readonly end: number;
}

/**
 * Reads the evaluations and looks through the other logs.
 * @throws UserError with line and byte for a broken line; for one that only looks whole, once it is read
 */
export function scanLogs(files: LogFiles): Scan {
  const calls = extentOf(files, 'calls');
  const marks: { iteration: number; lines: NonNullable<LoggedEvent['lines']>; at: number }[] = [];
  const events = extentOf(files, 'events', (event: LoggedEvent, at) => {
    if (event.kind !== 'iteration-finished') return;
    marks.push({ iteration: event.iteration, lines: event.lines ?? unknownLines, at });
  });
  const evaluated: BufferEntry[] = [];
  const evaluations = extentOf(files, 'evaluations', (entry: BufferEntry) => evaluated.push(entry));
  const placesOfEpisodes: number[] = [];
  const episodes = extentOf(files, 'episodes', undefined, (bytes) => {
    const [, iteration, candidate] = placePattern.exec(bytes.toString('latin1', 0, 60)) ?? [];
    placesOfEpisodes.push(Number(iteration), Number(candidate));
  });
  const last = marks.findLast(
    ({ lines }) =>
      lines.evaluations <= evaluations.lines &&
      lines.episodes <= episodes.lines &&
      lines.calls <= calls.lines,
  );
  const iteration = last?.iteration ?? 0;
  const beyond = marks.find((mark) => mark.iteration > iteration);
  const complete = evaluated.filter((entry) => entry.iteration <= iteration);
  const isKept = keptPlaces(complete, iteration);
  let keptEpisodes = 0;
  for (let i = 0; i < placesOfEpisodes.length; i += 2) {
    if (isKept({ iteration: placesOfEpisodes[i]!, candidate: placesOfEpisodes[i + 1]! })) keptEpisodes++;
  }
  const lines = {
    evaluations: complete.length,
    episodes: keptEpisodes,
    calls: calls.lines,
    events: beyond?.at ?? events.lines,
  };
  const { entries, faults } = usable(complete, files);
  const recorded: RecordedRun = {
    entries,
    episodes: { [Symbol.iterator]: () => keptItems(linesOf<EpisodeRecord>(files, 'episodes'), isKept) },
    calls: { [Symbol.iterator]: () => firstItems(callsOf(files), lines.calls) },
    events: { [Symbol.iterator]: () => firstItems(linesOf<LoggedEvent>(files, 'events'), lines.events) },
    iteration,
    lines,
    faults,
  };
  const found = { calls, events, evaluations, episodes };
  return { recorded, found, lastEvaluated: evaluated.at(-1)?.iteration ?? 0 };
}

/**
 * Makes the logs ready to be gone on with: cuts torn lines, and rolls back what an unfinished iteration left (its model
 * calls stay). Only the one writer of a run may do so.
 * @throws UserError with path and byte when a log is damaged so that more would be lost than that
 */
export function repairLogs(files: LogFiles): RecordedRun {
  const { recorded, found, lastEvaluated } = scanLogs(files);
  requireWhole(files, recorded, lastEvaluated);
  for (const name of logNames) {
    if (recorded.lines[name] < found[name].lines) keepFirstLines(files[name], recorded.lines[name]);
    else cutAfter(files[name], found[name].end);
  }
  return recorded;
}

/** The evaluations up to an iteration. */
export function evaluationsUntil(files: LogFiles, iteration: number): readonly BufferEntry[] {
  const entries: BufferEntry[] = [];
  for (const entry of linesOf<BufferEntry>(files, 'evaluations')) {
    if (entry.iteration <= iteration) entries.push(entry);
  }
  return usable(entries, files).entries;
}

/** Of an event without them nothing says that its iteration is complete. */
const unknownLines = { evaluations: Infinity, episodes: Infinity, calls: Infinity };

/** Which places belong to complete iterations, and of the warm-up to policies that were evaluated. */
function keptPlaces(complete: readonly BufferEntry[], last: number) {
  const warmup = new Set(complete.flatMap((entry) => (entry.iteration === 0 ? [entry.candidate] : [])));
  return ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
    iteration <= last && (iteration > 0 || warmup.has(candidate));
}

/** Earlier versions recorded returns that overflowed as null: such an evaluation failed. */
function usable(complete: readonly BufferEntry[], files: LogFiles) {
  const entries = complete.filter(
    ({ score, returns }) => Number.isFinite(score) && returns.every((value) => Number.isFinite(value)),
  );
  const lost = complete.length - entries.length;
  const faults =
    lost === 0
      ? []
      : [
          `${files.evaluations}: ${lost} of ${complete.length} evaluations have returns that are no numbers (they overflowed); they are left out`,
        ];
  return { entries: lost === 0 ? complete : entries, faults };
}

type Field = readonly [path: readonly string[], type: 'number' | 'string'];

const place = [
  [['iteration'], 'number'],
  [['candidate'], 'number'],
] as const;

/** The fields that every line of a log must have. */
const logFields = {
  events: [[['kind'], 'string']],
  evaluations: [...place, [['parameters', '0'], 'number'], [['returns', 'length'], 'number']],
  episodes: [...place, [['episode'], 'number']],
  calls: [
    ...place,
    [['attempt'], 'number'],
    [['outcome', 'kind'], 'string'],
    [['messages', 'length'], 'number'],
  ],
} as const satisfies Record<LogName, readonly Field[]>;

/** How a whole line of the large logs begins, and what else stands in it. */
const placePattern = /^\{"iteration":(\d+),"candidate":(\d+),/;
const marker = { episodes: ',"episode":', calls: '"outcome":{"kind":"' } as const;

const linesOf = <T>(files: LogFiles, log: LogName) =>
  eachJsonLine<T>(files[log], { repair: false, problem: problemIn(log) });

const problemIn = (log: LogName) => (item: unknown) => lacking(item, logFields[log]);

/** The first missing field: a damaged line, or one of another file, must not pass for an empty one. */
function lacking(item: unknown, fields: readonly Field[]): string | undefined {
  for (const [path, type] of fields) {
    let value = item;
    for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key];
    if (typeof value !== type) return `this line has no ${type} ${path.join('.')}`;
  }
  return undefined;
}

/**
 * Looks through a log, line by line. Lines of calls and episodes are not parsed where they look whole at both ends and
 * have their marker: they are large, and whoever reads them later finds what is damaged within.
 * @throws UserError with line and byte for a broken line
 */
function extentOf<T>(
  files: LogFiles,
  log: LogName,
  onItem?: (item: T, at: number) => void,
  onLine?: (bytes: Buffer) => void,
): Extent {
  const file = files[log];
  let lines = 0;
  let end = 0;
  for (const { bytes, start } of eachLine(file)) {
    const isLarge = log === 'calls' || log === 'episodes';
    if (!isLarge || !looksWhole(bytes, marker[log])) {
      const item = itemOf<T>(bytes, { path: file, line: lines + 1, start, problem: problemIn(log) });
      onItem?.(item, lines);
    }
    onLine?.(bytes);
    lines++;
    end = start + bytes.length + 1;
  }
  return { lines, end };
}

const closingBrace = 0x7d;

const looksWhole = (bytes: Buffer, text: string) =>
  bytes.at(-1) === closingBrace && placePattern.test(bytes.toString('latin1', 0, 60)) && bytes.includes(text);

function* callsOf(files: LogFiles): Generator<CallRecord, void> {
  const file = files.calls;
  const decoder = new CallDecoder();
  let line = 0;
  for (const { bytes, start } of eachLine(file)) {
    const at = { path: file, line: ++line, start };
    const written = itemOf<WrittenCall>(bytes, { ...at, problem: problemIn('calls') });
    let call: CallRecord;
    try {
      call = decoder.decode(written);
    } catch (error) {
      throw brokenLine(`this line can't be read: ${messageOf(error)}`, bytes.toString('utf8', 0, 80), at);
    }
    yield call;
  }
}

function* firstItems<T>(items: Iterable<T>, count: number): Generator<T, void> {
  if (count === 0) return;
  let left = count;
  for (const item of items) {
    yield item;
    if (--left === 0) return;
  }
}

function* keptItems<T>(items: Iterable<T>, isKept: (item: T) => boolean): Generator<T, void> {
  for (const item of items) if (isKept(item)) yield item;
}

/**
 * A crash leaves at most what came after the last commit, and the commit that it interrupted: two iterations. More
 * than that beyond the last complete one means that lines of a log are missing, and to cut it all off would lose it.
 */
function requireWhole(files: LogFiles, { iteration, lines }: RecordedRun, last: number): void {
  const file = files.evaluations;
  if (last <= iteration + 2) return;
  throw new UserError({
    file,
    line: lines.evaluations + 1,
    message:
      `evaluations of ${last - iteration} iterations stand here (from byte ${endOfLine(file, lines.evaluations)} on) ` +
      `of which the logs beside it don't say that they were complete: lines of ` +
      `${basename(files.events)}, ${basename(files.episodes)} or ${basename(files.calls)} are missing`,
    remedy: `restore those files from a copy; or remove the lines from this one on to go on after iteration ${iteration}`,
  });
}

/** One after the other, each read anew each time. */
export function inTurn<T>(...parts: readonly Iterable<T>[]): Iterable<T> {
  return {
    *[Symbol.iterator]() {
      for (const part of parts) yield* part;
    },
  };
}
