/** Lines of a run's logs: the fields that each must have, and what becomes of those that are broken. */
import { messageOf, UserError } from '../base/errors.js';
import { brokenLine, eachLine, itemOf, type Line } from '../storage/json-lines.js';
import { CallDecoder, type WrittenCall } from './call-lines.js';
import type { CallRecord } from './calls.js';

export const logNames = ['evaluations', 'episodes', 'calls', 'events'] as const;
export type LogName = (typeof logNames)[number];

/** Paths of the logs of a run. */
export type LogFiles = Readonly<Record<LogName, string>>;

/** Complete lines of a log, and the byte after them. */
export interface Extent {
  readonly lines: number;
  readonly end: number;
}

/** Notes a broken line, which is then left out; without it such a line is refused. */
export type OnBroken = ((error: UserError) => void) | undefined;

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

export interface Place {
  readonly iteration: number;
  readonly candidate: number;
}

export function* linesOf<T>(
  files: LogFiles,
  log: LogName,
  onBroken: OnBroken,
  most = Infinity,
): Generator<T, void> {
  let line = 0;
  for (const { bytes, start } of linesIn(files[log], onBroken)) {
    if (line === most) return;
    const at = { path: files[log], line: ++line, start, problem: problemIn(log) };
    const item = unlessBroken(() => itemOf<T>(bytes, at), onBroken);
    if (item !== undefined) yield item;
  }
}

/** Lines up to the end, or up to where the file can't be read any further. */
function* linesIn(file: string, onBroken: OnBroken): Generator<Line, void> {
  try {
    yield* eachLine(file);
  } catch (error) {
    if (onBroken === undefined || !(error instanceof UserError)) throw error;
    onBroken(error);
  }
}

function unlessBroken<T>(read: () => T, onBroken: OnBroken): T | undefined {
  try {
    return read();
  } catch (error) {
    if (onBroken === undefined || !(error instanceof UserError)) throw error;
    onBroken(error);
    return undefined;
  }
}

/** What a call that was answered has besides. */
const completionFields = [
  [['completion', 'text'], 'string'],
  [['completion', 'finishReason'], 'string'],
] as const satisfies readonly Field[];

const problemIn = (log: LogName) => (item: unknown) =>
  lacking(item, logFields[log]) ??
  ((item as { readonly completion?: unknown }).completion === undefined
    ? undefined
    : lacking(item, completionFields));

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
export function extentOf<T>(
  files: LogFiles,
  log: LogName,
  onBroken: OnBroken,
  onItem?: (item: T, at: number) => void,
): Extent {
  const file = files[log];
  let lines = 0;
  let end = 0;
  for (const { bytes, start } of linesIn(file, onBroken)) {
    const isLarge = log === 'calls' || log === 'episodes';
    const place = isLarge ? placeIn(bytes, marker[log]) : undefined;
    const at = { path: file, line: lines + 1, start, problem: problemIn(log) };
    const item = (place as T | undefined) ?? unlessBroken(() => itemOf<T>(bytes, at), onBroken);
    if (item !== undefined) onItem?.(item, lines);
    lines++;
    end = start + bytes.length + 1;
  }
  return { lines, end };
}

const closingBrace = 0x7d;

/** The place of a line that looks whole; undefined where it has to be parsed. */
function placeIn(bytes: Buffer, text: string): Place | undefined {
  const [, iteration, candidate] = placePattern.exec(bytes.toString('latin1', 0, 60)) ?? [];
  if (iteration === undefined || bytes.at(-1) !== closingBrace || !bytes.includes(text)) return undefined;
  return { iteration: Number(iteration), candidate: Number(candidate) };
}

export function* callsOf(files: LogFiles, most: number, onBroken: OnBroken): Generator<CallRecord, void> {
  const decoder = new CallDecoder();
  let line = 0;
  for (const { bytes, start } of linesIn(files.calls, onBroken)) {
    if (line === most) return;
    const at = { path: files.calls, line: ++line, start };
    const call = unlessBroken(() => {
      const written = itemOf<WrittenCall>(bytes, { ...at, problem: problemIn('calls') });
      try {
        return decoder.decode(written);
      } catch (error) {
        throw brokenLine(`this line can't be read: ${messageOf(error)}`, bytes.toString('utf8', 0, 80), at);
      }
    }, onBroken);
    if (call === undefined) decoder.startOver();
    else yield call;
  }
}
