/** JSONL files: appends lines, and streams files of any size. */

import { isUtf8 } from 'node:buffer';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { UserError } from '../errors.js';
import { parseJson } from './json-depth.js';
import { openRegularFile, type SymlinkMode } from './regular-file.js';

const syncData = promisify(fdatasync);

export class JsonLinesFile<T> {
  readonly path: string;
  #descriptor: number | undefined;
  #lineCount = 0;
  #dirty = false;

  /** @param lineCount number of lines in the file */
  constructor(path: string, lineCount = 0) {
    this.path = path;
    this.#lineCount = lineCount;
  }

  /** Number of lines. */
  get length(): number {
    return this.#lineCount;
  }

  /**
   * Appends items in a single write. They reach the operating system before this returns, and the disk with `flush`.
   */
  append(items: readonly T[]): void {
    if (items.length === 0) return;
    const text = items.map((item) => `${this.#checkedLine(JSON.stringify(item))}\n`).join('');
    this.#dirty = true;
    try {
      this.#descriptor ??= openSync(this.path, 'a');
      appendFileSync(this.#descriptor, text);
    } catch (error) {
      throw withPath(error, this.path);
    }
    this.#lineCount += items.length;
  }

  /** @throws UserError for a line too long to be read again */
  #checkedLine(line: string): string {
    if (3 * line.length < maxLineBytes || Buffer.byteLength(line) < maxLineBytes) return line;
    throw new UserError({
      file: this.path,
      message: `a line of ${line.length} characters is too long to be logged`,
      hint: 'set record to none, or lower evaluation.maxSteps (in an agent config: maxSteps)',
    });
  }

  /** Flushes all appended lines to disk. */
  async flush(): Promise<void> {
    if (this.#descriptor === undefined || !this.#dirty) return;
    this.#dirty = false;
    try {
      await syncData(this.#descriptor);
    } catch (error) {
      throw withPath(error, this.path);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Adds the path to a system error that doesn't name a file. */
export function withPath(error: unknown, path: string): unknown {
  const failure = error as NodeJS.ErrnoException;
  if (error instanceof Error && failure.syscall !== undefined && failure.path === undefined) {
    failure.path = path;
    failure.message += ` '${path}'`;
  }
  return error;
}

export interface ReadOptions {
  /** If true, removes an incomplete last line from the file; otherwise, only skips it. */
  readonly repair: boolean;
  /** Checks an item that is valid JSON; returns its problem, or undefined. */
  readonly problem?: ((item: unknown) => string | undefined) | undefined;
  /** Links are rejected by default, as for all files of a run. */
  readonly symlinks?: SymlinkMode;
}

/**
 * The items of a JSONL file, without an incomplete last line; undefined if the file doesn't exist.
 * @throws UserError with line and byte for an invalid line; also throws like `eachLine`
 */
export function readJsonLines<T>(path: string, { symlinks, problem, repair }: ReadOptions): T[] | undefined {
  if (!existsSync(path)) return undefined;
  const items: T[] = [];
  let end = 0;
  for (const { bytes, start } of eachLine(path, symlinks)) {
    items.push(toItem<T>(bytes, { path, line: items.length + 1, start, problem }));
    end = start + bytes.length + 1;
  }
  if (repair) truncateFile(path, end);
  return items;
}

export interface FileLine {
  /** The line without its line break; valid only until the next line is read. */
  readonly bytes: Buffer;
  /** Position of the line's first byte. */
  readonly start: number;
}

const chunkSize = 1 << 20; // bytes

/** Lines must be shorter than this many bytes; once parsed, JSON takes several times as much memory. */
const maxLineBytes = 64 * 2 ** 20;

/**
 * The complete lines of a file; none if it doesn't exist. Memory use is limited by the longest line.
 * @throws UserError for anything but a regular file, and for a line of `maxLineBytes` or more
 */
export function* eachLine(path: string, symlinks: SymlinkMode = 'reject'): Generator<FileLine, void> {
  const descriptor = openIfExists(path, symlinks);
  if (descriptor === undefined) return;
  try {
    let buffer = Buffer.allocUnsafe(chunkSize);
    let heldBytes = 0;
    let start = 0;
    for (;;) {
      if (heldBytes >= maxLineBytes) throw overlongError(path, start);
      if (heldBytes === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
      const bytesRead = readSync(descriptor, buffer, heldBytes, buffer.length - heldBytes, start + heldBytes);
      if (bytesRead === 0) return;
      const until = heldBytes + bytesRead;
      let from = 0;
      // The bytes kept from earlier reads contain no line break.
      for (let end = newlineIn(buffer, heldBytes, until); end >= 0; end = newlineIn(buffer, from, until)) {
        yield { bytes: buffer.subarray(from, end), start: start + from };
        from = end + 1;
      }
      buffer.copyWithin(0, from, until);
      heldBytes = until - from;
      start += from;
    }
  } finally {
    closeSync(descriptor);
  }
}

function newlineIn(buffer: Buffer, from: number, until: number): number {
  const at = buffer.indexOf(10, from);
  return at < until ? at : -1;
}

const overlongError = (file: string, start: number) =>
  new UserError({
    file,
    message: `the line at byte ${start} has ${maxLineBytes / 2 ** 20} MiB or more; this line and the rest of the file are not read`,
    hint: 'restore the file from a copy, or truncate the file before this line',
  });

function openIfExists(path: string, symlinks: SymlinkMode): number | undefined {
  try {
    return openRegularFile(path, symlinks).descriptor;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Location of a line, for error messages. */
interface LinePlace {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  /** Position of the line's first byte. */
  readonly start: number;
}

/** @throws UserError for a line that isn't valid UTF-8 and JSON, or for which `problem` returns a message */
export function toItem<T>(bytes: Buffer, { problem, ...place }: LinePlace & Pick<ReadOptions, 'problem'>): T {
  const text = bytes.toString('utf8');
  const parsed = isUtf8(bytes) ? parseLine(text) : { problem: 'this line is not valid UTF-8' };
  const message = parsed.problem ?? problem?.(parsed.item);
  if (message !== undefined) throw lineError(message, text, place);
  return parsed.item as T;
}

export function lineError(problem: string, text: string, { path, line, start }: LinePlace): UserError {
  return new UserError({
    file: path,
    line,
    message: `${problem} (byte ${start})`,
    value: text.slice(0, 80),
    hint: 'restore the file from a copy, or remove this line and all later ones to continue from there',
  });
}

function parseLine(text: string): { readonly item?: unknown; readonly problem?: string } {
  try {
    return { item: parseJson(text) };
  } catch {
    return { problem: 'this line is not valid JSON' };
  }
}

/** Truncates the file after its first `lineCount` lines. */
export function keepFirstLines(path: string, lineCount: number): void {
  truncateFile(path, endOfLines(path, lineCount));
}

/** Position after the first `lineCount` lines, or after the last complete line of a shorter file. */
export function endOfLines(path: string, lineCount: number): number {
  let left = lineCount;
  let end = 0;
  if (lineCount === 0) return 0;
  for (const { bytes, start } of eachLine(path)) {
    end = start + bytes.length + 1;
    if (--left === 0) break;
  }
  return end;
}

/** Truncates a file to `length` bytes; does nothing if the file is shorter or doesn't exist. */
export function truncateFile(path: string, length: number): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= length) return;
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}
