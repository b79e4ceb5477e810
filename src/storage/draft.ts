/** Files and directories that appear only once they are complete. */
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UserError } from '../base/errors.js';
import { lockRun } from './lock.js';

interface Draft {
  /** Where to write: nothing is there yet. */
  readonly path: string;
  /** Gives it the name that it is for; an empty directory of that name is replaced. */
  complete(): void;
  /** Removes it. */
  discard(): void;
}

/**
 * Begins a file or a directory: until it is complete it is `<output>.partial`. What a killed process left of it is
 * removed.
 * @throws UserError while another process writes it, or when something else has the name `<output>.partial`
 */
export function openDraft(output: string): Draft {
  const path = `${output}.partial`;
  mkdirSync(dirname(path), { recursive: true });
  const lock = `${path}.lock`;
  const cutOff = existsSync(lock);
  const release = lockRun(lock);
  if (existsSync(path) && !cutOff) {
    release();
    throw new UserError({
      field: '--out',
      value: output,
      message: `what is written has the name ${path} until it is complete, and something else has it`,
      remedy: 'move that away, or name another place',
    });
  }
  rmSync(path, { recursive: true, force: true });
  const ending = (end: () => void) => () => {
    try {
      end();
    } finally {
      release();
    }
  };
  return {
    path,
    complete: ending(() => {
      // Not every system renames onto an empty directory.
      if (statSync(output, { throwIfNoEntry: false })?.isDirectory()) rmdirSync(output);
      renameSync(path, output);
    }),
    discard: ending(() => rmSync(path, { recursive: true, force: true })),
  };
}

/** Writes a file or a directory that appears only once it is complete; a failure removes it. */
export function writeWhole<T>(output: string, write: (path: string) => T): T {
  const draft = openDraft(output);
  try {
    const result = write(draft.path);
    draft.complete();
    return result;
  } catch (error) {
    draft.discard();
    throw error;
  }
}
