/** Parses lines of a run's logs and checks their required fields. */
import { messageOf, UserError } from '../base/errors.js';
import { eachLine, type FileLine, lineError, toItem } from '../base/files/json-lines.js';
import { decodeText, encodeText, type TextPart } from '../base/files/text-parts.js';
import type { ChatMessage } from '../models/language-model.js';
import type { CallRecord } from './calls.js';

export const logNames = ['evaluations', 'episodes', 'calls', 'events'] as const;
export type LogName = (typeof logNames)[number];

export type LogFiles = Readonly<Record<LogName, string>>;

/** Number of complete lines, and the position of the first byte after them. */
export interface LogExtent {
  readonly lines: number;
  readonly end: number;
}

/** Called for each broken line, which is then skipped. If undefined, the first broken line throws an error. */
export type OnBrokenLine = ((error: UserError) => void) | undefined;

type Field = readonly [path: readonly string[], type: 'number' | 'string'];

const placeFields = [
  [['iteration'], 'number'],
  [['candidate'], 'number'],
] as const;

/** Required fields of each log. */
const logFields = {
  events: [[['kind'], 'string']],
  evaluations: [...placeFields, [['parameters', '0'], 'number'], [['returns', 'length'], 'number']],
  episodes: [...placeFields, [['episode'], 'number']],
  calls: [
    ...placeFields,
    [['attempt'], 'number'],
    [['outcome', 'kind'], 'string'],
    [['messages', 'length'], 'number'],
  ],
} as const satisfies Record<LogName, readonly Field[]>;

/** The beginning of each complete line in the large logs, and text that the line must contain. */
const placePattern = /^\{"iteration":(\d+),"candidate":(\d+),/;
const marker = { episodes: ',"episode":', calls: '"outcome":{"kind":"' } as const;

export interface CandidateId {
  readonly iteration: number;
  readonly candidate: number;
}

export function* logItems<T>(
  files: LogFiles,
  log: LogName,
  onBroken: OnBrokenLine,
  most = Infinity,
): Generator<T, void> {
  let line = 0;
  for (const { bytes, start } of linesIn(files[log], onBroken)) {
    if (line === most) return;
    const at = { path: files[log], line: ++line, start, problem: problemOf(log) };
    const item = tryReading(() => toItem<T>(bytes, at), onBroken);
    if (item !== undefined) yield item;
  }
}

/** Yields the lines of a file; if reading fails, calls `onBroken` and ends. */
function* linesIn(file: string, onBroken: OnBrokenLine): Generator<FileLine, void> {
  try {
    yield* eachLine(file);
  } catch (error) {
    if (onBroken === undefined || !(error instanceof UserError)) throw error;
    onBroken(error);
  }
}

function tryReading<T>(read: () => T, onBroken: OnBrokenLine): T | undefined {
  try {
    return read();
  } catch (error) {
    if (onBroken === undefined || !(error instanceof UserError)) throw error;
    onBroken(error);
    return undefined;
  }
}

/** Additional required fields of a call with a completion. */
const completionFields = [
  [['completion', 'text'], 'string'],
  [['completion', 'finishReason'], 'string'],
] as const satisfies readonly Field[];

const problemOf = (log: LogName) => (item: unknown) =>
  missingFieldText(item, logFields[log]) ??
  ((item as { readonly completion?: unknown }).completion === undefined
    ? undefined
    : missingFieldText(item, completionFields));

/** A message about the first missing field; undefined if none is missing. */
function missingFieldText(item: unknown, fields: readonly Field[]): string | undefined {
  for (const [path, type] of fields) {
    let value = item;
    for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key];
    if (typeof value !== type) return `${path.join('.')} is missing, or isn't a ${type}`;
  }
  return undefined;
}

/**
 * Scans a log line by line. Lines of calls and episodes are large, so they are parsed only if they look incomplete;
 * other damage is found when they are read.
 * @throws UserError with line and byte for a broken line, unless `onBroken` is given
 */
export function scanLog<T>(
  files: LogFiles,
  log: LogName,
  onBroken: OnBrokenLine,
  onItem?: (item: T, at: number) => void,
): LogExtent {
  const file = files[log];
  let lineCount = 0;
  let end = 0;
  for (const { bytes, start } of linesIn(file, onBroken)) {
    const isLarge = log === 'calls' || log === 'episodes';
    const place = isLarge ? readCandidateId(bytes, marker[log]) : undefined;
    const at = { path: file, line: lineCount + 1, start, problem: problemOf(log) };
    const item = (place as T | undefined) ?? tryReading(() => toItem<T>(bytes, at), onBroken);
    if (item !== undefined) onItem?.(item, lineCount);
    lineCount++;
    end = start + bytes.length + 1;
  }
  return { lines: lineCount, end };
}

const closingBrace = 0x7d;

/** Iteration and candidate of a line that looks complete; otherwise undefined, and the line must be parsed. */
function readCandidateId(bytes: Buffer, text: string): CandidateId | undefined {
  const [, iteration, candidate] = placePattern.exec(bytes.toString('latin1', 0, 60)) ?? [];
  if (iteration === undefined || bytes.at(-1) !== closingBrace || !bytes.includes(text)) return undefined;
  return { iteration: Number(iteration), candidate: Number(candidate) };
}

export function* readCalls(files: LogFiles, most: number, onBroken: OnBrokenLine): Generator<CallRecord> {
  const decoder = new CallDecoder();
  let line = 0;
  for (const { bytes, start } of linesIn(files.calls, onBroken)) {
    if (line === most) return;
    const at = { path: files.calls, line: ++line, start };
    const call = tryReading(() => {
      const written = toItem<EncodedCall>(bytes, { ...at, problem: problemOf('calls') });
      try {
        return decoder.decode(written);
      } catch (error) {
        throw lineError(`this line can't be read: ${messageOf(error)}`, bytes.toString('utf8', 0, 80), at);
      }
    }, onBroken);
    if (call === undefined) decoder.startOver();
    else yield call;
  }
}

/** A message whose text may be encoded relative to the last message at the same position. */
interface EncodedMessage {
  readonly role: ChatMessage['role'];
  readonly content: string | readonly TextPart[];
}

/** A line of `calls.jsonl`: a call with encoded messages. */
export interface EncodedCall extends Omit<CallRecord, 'messages'> {
  readonly messages: readonly EncodedMessage[];
}

/** Every 256th call is written in full, which limits how many lines after a damaged one are unreadable. */
const fullCallInterval = 256;

/** Messages with fewer characters are always written in full. */
const minSharedLength = 200;

/** Remembers the last message at each position of a prompt. */
class LastMessages {
  #texts: (string | undefined)[] = [];

  at(place: number): string | undefined {
    return this.#texts[place];
  }

  keep(messages: readonly ChatMessage[], isWhole: boolean): void {
    if (isWhole) this.#texts = [];
    for (const [place, { content }] of messages.entries()) this.#texts[place] = content;
  }
}

const isWhole = ({ messages }: Pick<EncodedCall, 'messages'>) =>
  messages.every(({ content }) => typeof content === 'string');

/** Encodes the messages of each call relative to earlier messages. */
export class CallEncoder {
  readonly #lastMessages = new LastMessages();

  /** @param lineIndex number of lines in the file before this one */
  encode(call: CallRecord, line: number): EncodedCall {
    const startsOver = line % fullCallInterval === 0;
    const messages = call.messages.map(({ role, content }, place): EncodedMessage => {
      const earlier = startsOver ? undefined : this.#lastMessages.at(place);
      return { role, content: earlier === undefined ? content : shorterContent(content, earlier) };
    });
    const written = { ...call, messages };
    this.#lastMessages.keep(call.messages, isWhole(written));
    return written;
  }
}

function shorterContent(content: string, earlier: string): EncodedMessage['content'] {
  if (content.length < minSharedLength) return content;
  const parts = encodeText(content, earlier);
  const isShorter = parts.some((part) => typeof part !== 'string');
  return isShorter && JSON.stringify(parts).length < content.length ? parts : content;
}

/** Decodes calls in the order in which they were written, from the first line or any line written in full. */
class CallDecoder {
  readonly #lastMessages = new LastMessages();

  /** Forgets earlier messages; call this after an unreadable line. */
  startOver(): void {
    this.#lastMessages.keep([], true);
  }

  /** @throws RangeError if a message refers to an earlier message that is missing or too short */
  decode(written: EncodedCall): CallRecord {
    const messages = written.messages.map(({ role, content }, place): ChatMessage => {
      if (typeof content === 'string') return { role, content };
      const earlier = this.#lastMessages.at(place);
      if (earlier === undefined) throw new RangeError('it refers to parts of a missing message');
      return { role, content: decodeText(content, earlier) };
    });
    this.#lastMessages.keep(messages, isWhole(written));
    return { ...written, messages };
  }
}
