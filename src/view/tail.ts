/** The lines that come to a growing file. */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { UserError } from '../base/errors.js';
import { jsonIn } from '../storage/json-depth.js';
import { longestLine } from '../storage/json-lines.js';
import { openRegularFile } from '../storage/regular-file.js';

/** Bytes that one look reads: what is more comes with the next looks. */
const chunk = 4 * 2 ** 20;

/** Follows a file of one JSON object a line. Holds nothing of it but the place that it was read to. */
export class Tail {
  readonly #path: string;
  #end = 0;
  #file = 0;
  /** Bytes of the next look, more where a line is longer than that. */
  #size = chunk;

  constructor(path: string) {
    this.#path = path;
  }

  /** The next look reads from the beginning. */
  restart(): void {
    this.#end = 0;
  }

  /**
   * Hands on the lines that are new; those that are no JSON are left out.
   * @returns `again`: the file was cut or replaced, and is to be read from its beginning; `more`: there
   * may be more lines to read at once
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
      const { ino, size } = fstatSync(descriptor);
      if (this.#end > size || (this.#end > 0 && ino !== this.#file)) return this.#cut();
      this.#file = ino;
      if (this.#end === size) return 'done';
      const buffer = Buffer.allocUnsafe(Math.min(this.#size, size - this.#end));
      const read = readSync(descriptor, buffer, 0, buffer.length, this.#end);
      const end = buffer.lastIndexOf(10, read - 1) + 1;
      if (end === 0) return this.#growBy(read, size);
      this.#size = chunk;
      this.#end += end;
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
    this.#end = 0;
    return isNew ? 'done' : 'again';
  }

  #growBy(read: number, size: number): 'more' | 'done' {
    if (this.#end + read === size) return 'done';
    // What follows an endless line is not looked for: a sparse file has terabytes of it.
    if (this.#size >= longestLine) return 'done';
    this.#size *= 2;
    return 'more';
  }
}
