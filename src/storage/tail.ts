import { closeSync, fstatSync, readSync } from 'node:fs';
import { UserError } from '../base/errors.js';
import { jsonIn } from './json-depth.js';
import { longestLine } from './json-lines.js';
import { openRegularFile } from './regular-file.js';

/** Usual number of bytes per read. */
const chunk = 4 * 2 ** 20;

/** Maximum number of bytes before the position to read again, to find out whether the file was rewritten. */
const checked = 256;

/** Follows a JSON Lines file; keeps only its position and the last bytes read. */
export class Tail {
  readonly #path: string;
  #end = 0;
  #file = 0;
  #changed = 0;
  /** The last bytes read, which show whether the file was rewritten. */
  #last = Buffer.alloc(0);
  /** Number of bytes of the next read; grows for longer lines. */
  #size = chunk;

  constructor(path: string) {
    this.#path = path;
  }

  restart(): void {
    this.#end = 0;
    this.#last = Buffer.alloc(0);
  }

  /**
   * Passes new lines to `onLine`, skipping invalid JSON.
   * @returns `again` if the file was truncated, replaced or deleted, so reading restarts; `more` if there are bytes
   * left to read; otherwise `done`
   */
  look(onLine: (item: unknown) => void): 'again' | 'more' | 'done' {
    let descriptor: number;
    try {
      ({ descriptor } = openRegularFile(this.#path, 'refuse'));
    } catch (error) {
      if (error instanceof UserError) return 'done';
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#cut();
      throw error;
    }
    try {
      const { ino, mtimeMs, size } = fstatSync(descriptor);
      if (this.#end > size || (this.#end > 0 && ino !== this.#file)) return this.#cut();
      if (mtimeMs !== this.#changed && !this.#continues(descriptor)) return this.#cut();
      this.#file = ino;
      this.#changed = mtimeMs;
      if (this.#end === size) return 'done';
      const buffer = Buffer.allocUnsafe(Math.min(this.#size, size - this.#end));
      const read = readSync(descriptor, buffer, 0, buffer.length, this.#end);
      const end = buffer.lastIndexOf(10, read - 1) + 1;
      if (end === 0) return this.#growBy(read, size);
      this.#size = chunk;
      this.#end += end;
      this.#last = Buffer.from(buffer.subarray(Math.max(0, end - checked), end));
      for (const line of buffer.toString('utf8', 0, end - 1).split('\n')) {
        const item = jsonIn(line);
        if (item !== undefined) onLine(item);
      }
      return this.#end < size ? 'more' : 'done';
    } finally {
      closeSync(descriptor);
    }
  }

  #cut(): 'again' | 'done' {
    const isNew = this.#end === 0;
    this.restart();
    return isNew ? 'done' : 'again';
  }

  #continues(descriptor: number): boolean {
    const { length } = this.#last;
    const bytes = Buffer.alloc(length);
    readSync(descriptor, bytes, 0, length, this.#end - length);
    return bytes.equals(this.#last);
  }

  #growBy(read: number, size: number): 'more' | 'done' {
    if (this.#end + read === size) return 'done';
    // Give up on an endless line: a sparse file can have terabytes.
    if (this.#size >= longestLine) return 'done';
    this.#size *= 2;
    return 'more';
  }
}
