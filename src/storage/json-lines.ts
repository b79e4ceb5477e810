import { isUtf8 } from 'node:buffer';
import { appendFileSync, closeSync, fdatasync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { SyncAdapter } from 'lowdb';
import { UserError } from '../base/errors.js';
import { openRegularFile } from './regular-file.js';

const sync = promisify(fdatasync);

/**
 * An append-only file of one JSON object a line, as a lowdb adapter: `write(data)` appends only the items that are
 * not on disk yet. A last line that a crash cut short is removed on open; any other broken line is refused.
 */
export class JsonLinesFile<T> implements SyncAdapter<T[]> {
  readonly path: string;
  #descriptor: number | undefined;
  #written = 0;
  #dirty = false;
  #pending = '';
  readonly #collects: boolean;

  /**
   * @param lines how many the file has, where it is not read
   * @param collects whether lines are kept here until `drain`, which writes them in one go
   */
  constructor(path: string, lines = 0, collects = false) {
    this.path = path;
    this.#collects = collects;
    this.#written = lines;
  }

  /** Lines in the file, those kept here included. */
  get length(): number {
    return this.#written;
  }

  /** All items, or null when there is no file yet. Cuts a torn last line. */
  read(): T[] | null {
    const items = readJsonLines<T>(this.path, { repair: true });
    this.#written = items?.length ?? 0;
    return items ?? null;
  }

  /** Appends the items of `data` beyond those already on disk. */
  write(data: T[]): void {
    this.append(data.slice(this.#written));
  }

  /**
   * Appends items in one go. The operating system has them on return (or after `drain`), the disk after `flush`.
   */
  append(items: readonly T[]): void {
    if (items.length === 0) return;
    this.#pending += items.map((item) => `${JSON.stringify(item)}\n`).join('');
    if (!this.#collects) this.drain();
    this.#written += items.length;
  }

  /** Hands the lines kept here to the operating system. */
  drain(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    // A text that failed half-way must not be appended again.
    this.#pending = '';
    this.#dirty = true;
    try {
      this.#descriptor ??= openSync(this.path, 'a');
      appendFileSync(this.#descriptor, text);
    } catch (error) {
      throw withPath(error, this.path);
    }
  }

  /** Waits until everything appended is on disk. */
  async flush(): Promise<void> {
    this.drain();
    if (this.#descriptor === undefined || !this.#dirty) return;
    this.#dirty = false;
    try {
      await sync(this.#descriptor);
    } catch (error) {
      throw withPath(error, this.path);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Adds the path to a system error of a descriptor, which names no file. */
export function withPath(error: unknown, path: string): unknown {
  const failure = error as NodeJS.ErrnoException;
  if (error instanceof Error && failure.syscall !== undefined && failure.path === undefined) {
    failure.path = path;
    failure.message += ` '${path}'`;
  }
  return error;
}

export interface ReadOptions {
  /** Whether a torn last line is cut off the file; if not, it is only left out. */
  readonly repair: boolean;
  /** The problem of a line that is valid JSON, or undefined. */
  readonly problem?: (item: unknown) => string | undefined;
}

/**
 * The items of a JSONL file; undefined when there is none.
 * @throws UserError with line and byte for a broken line that is not a torn last one.
 */
export function readJsonLines<T>(path: string, options: ReadOptions): T[] | undefined {
  let bytes: Buffer;
  try {
    const { descriptor } = openRegularFile(path);
    try {
      bytes = readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const readable = isUtf8(bytes);
  const items: T[] = [];
  let start = 0;
  for (let line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    if (end < 0) break;
    const text = bytes.toString('utf8', start, end);
    const isText = readable || isUtf8(bytes.subarray(start, end));
    const read = isText ? parseLine(text) : { problem: 'this line is not valid UTF-8' };
    const problem = read.problem ?? options.problem?.(read.item);
    if (problem !== undefined) {
      throw new UserError({
        file: path,
        line,
        message: `${problem} (byte ${start})`,
        value: text.slice(0, 80),
        remedy: 'restore the file from a copy, or remove the line and all after it to go on from there',
      });
    }
    items.push(read.item as T);
    start = end + 1;
  }
  if (options.repair && start < bytes.length) truncateFile(path, start);
  return items;
}

function parseLine(text: string): { readonly item?: unknown; readonly problem?: string } {
  try {
    return { item: JSON.parse(text) };
  } catch {
    return { problem: 'this line is not valid JSON' };
  }
}

/** Cuts the file after its first `lines` lines. */
export function keepFirstLines(path: string, lines: number): void {
  truncateFile(path, endOfLine(path, lines));
}

/** The byte after the first `lines` lines of a file. */
export function endOfLine(path: string, lines: number): number {
  const bytes = readFileSync(path);
  let end = 0;
  for (let line = 0; line < lines; line++) end = bytes.indexOf(10, end) + 1;
  return end;
}

function truncateFile(path: string, length: number): void {
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}
