import { appendFileSync, closeSync, fdatasync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { SyncAdapter } from 'lowdb';
import { UserError } from './errors.js';

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
   * Appends items in one go. They are in the operating system's hands on return (or after `drain`), on disk after
   * `flush`.
   */
  append(items: readonly T[]): void {
    if (items.length === 0) return;
    this.#pending += items.map((item) => `${JSON.stringify(item)}\n`).join('');
    if (!this.#collects) this.drain();
    this.#written += items.length;
  }

  /** Hands what was kept here to the operating system. */
  drain(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    // What fails half-way is not to be appended a second time.
    this.#pending = '';
    this.#descriptor ??= openSync(this.path, 'a');
    appendFileSync(this.#descriptor, text);
    this.#dirty = true;
  }

  /** Waits until everything appended is on disk. */
  async flush(): Promise<void> {
    this.drain();
    if (this.#descriptor === undefined || !this.#dirty) return;
    this.#dirty = false;
    await sync(this.#descriptor);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/**
 * The items of a JSONL file; undefined when there is none. With `repair`, a torn last line is cut off the file;
 * without, it is only left out.
 * @throws UserError for a broken line that is not the last.
 */
export function readJsonLines<T>(path: string, options: { readonly repair: boolean }): T[] | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const items: T[] = [];
  let start = 0;
  for (let line = 1; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    if (end < 0) break;
    const text = bytes.toString('utf8', start, end);
    try {
      items.push(JSON.parse(text) as T);
    } catch {
      throw new UserError({
        file: path,
        line,
        message: `this line is not valid JSON (byte ${start})`,
        value: text.slice(0, 80),
        remedy: 'restore the file from a copy, or remove the line and all after it to go on from there',
      });
    }
    start = end + 1;
  }
  if (options.repair && start < bytes.length) truncateFile(path, start);
  return items;
}

/** Rewrites nothing: cuts the file after its first `lines` lines. */
export function keepFirstLines(path: string, lines: number): void {
  const bytes = readFileSync(path);
  let end = 0;
  for (let line = 0; line < lines; line++) end = bytes.indexOf(10, end) + 1;
  truncateFile(path, end);
}

function truncateFile(path: string, length: number): void {
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}
