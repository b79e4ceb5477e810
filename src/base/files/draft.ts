/** Files and directories that appear only once they are complete. */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { UserError } from '../errors.js';
import { makeDirectory, rejectDevice, syncFile } from './files.js';
import { isLocked, takeLock, wasLocked } from './lock.js';
import { readOwnText, requireShortNames } from './regular-file.js';

interface Draft {
  /** Path to write to; nothing exists there yet. */
  readonly path: string;
  /** Renames the draft to its final name. Replaces a file, an empty directory or a replaceable output. */
  complete(): void;
  discard(): void;
}

const lockPath = (output: string) => `${output}.partial.lock`;

/** Functions that release the locks of completed outputs, by lock file; undefined if locks aren't kept. */
let keptLocks: Map<string, () => void> | undefined;

/** Keeps the locks of completed outputs until the process exits, because the command isn't finished until then. */
export function keepLocksUntilExit(): void {
  const releases = new Map<string, () => void>();
  keptLocks = releases;
  process.on('exit', () => {
    for (const release of releases.values()) release();
  });
}

/** True if an output with this name exists and must not be replaced. */
export const isTaken = (output: string): boolean => existsSync(output) && !isReplaceable(output);

/**
 * True if the command that wrote this output was killed after completing it, and the output hasn't changed since.
 * If so, it may be replaced, e.g. by repeating the command.
 */
export function isReplaceable(output: string): boolean {
  const lock = lockPath(output);
  if (!existsSync(lock) || !existsSync(output) || isLocked(lock)) return false;
  const [, completedHash] = readOwnText(lock).split('\n');
  return completedHash === stateHash(output);
}

/** A hash that changes with the name, size, modification time or inode of any file in the output. */
function stateHash(output: string): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    const stats = lstatSync(path);
    const isFolder = stats.isDirectory();
    const size = isFolder ? 0 : stats.size;
    hash.update(JSON.stringify([path.slice(output.length), stats.ino, size, Math.round(stats.mtimeMs)]));
    if (isFolder) for (const name of readdirSync(path).toSorted()) add(join(path, name));
  };
  add(output);
  return hash.digest('hex');
}

/**
 * Starts a file or directory, which is named `<output>.partial` until it is complete. Removes an earlier draft that a
 * killed process left.
 * @param field the setting or option that contains the path, for error messages
 * @throws UserError if the path is unsuitable, another process is writing it, or the draft's name is taken
 */
export function openDraft(output: string, field = '--out'): Draft {
  requireShortNames(basename(output), { field });
  rejectDevice(output);
  const path = `${output}.partial`;
  makeDirectory(dirname(path), field);
  const lock = lockPath(output);
  // Release the lock if this command has written the output before.
  keptLocks?.get(lock)?.();
  const hadLock = wasLocked(lock);
  const mayReplace = isReplaceable(output);
  // If this process is killed, the lock that it leaves behind shows that policyloop wrote the draft.
  const release = takeLock(lock, { keepAtExit: true });
  if (existsSync(path) && !hadLock) {
    release();
    throw new UserError({
      field,
      value: output,
      message: `can't write the unfinished output to ${path}, because it already exists`,
      hint: 'move it, or choose another location',
    });
  }
  rmSync(path, { recursive: true, force: true });
  return {
    path,
    complete() {
      syncAll(path);
      // Write the second line of the lock, which `isReplaceable` compares with the output.
      appendFileSync(lock, `${stateHash(path)}\n`);
      // Some systems can't rename a directory onto an empty one.
      if (mayReplace) rmSync(output, { recursive: true, force: true });
      else if (statSync(output, { throwIfNoEntry: false })?.isDirectory()) rmdirSync(output);
      renameSync(path, output);
      syncFile(dirname(output));
      if (keptLocks) keptLocks.set(lock, release);
      else release();
    },
    discard() {
      try {
        rmSync(path, { recursive: true, force: true });
      } finally {
        release();
      }
    },
  };
}

/** Flushes a file, or a directory with its contents, to disk. */
function syncAll(path: string): void {
  const stats = lstatSync(path);
  if (stats.isDirectory()) for (const name of readdirSync(path)) syncAll(join(path, name));
  if (stats.isDirectory() || stats.isFile()) syncFile(path);
}

/** Writes a file or directory, which appears only once it is complete. If `write` fails, the draft is removed. */
export function writeAtomic<T>(output: string, write: (path: string) => T, field?: string): T {
  const draft = openDraft(output, field);
  const discard = (error: unknown): never => {
    draft.discard();
    throw error;
  };
  const complete = <R>(result: R): R => {
    draft.complete();
    return result;
  };
  try {
    const result = write(draft.path);
    return result instanceof Promise ? (result.then(complete).catch(discard) as T) : complete(result);
  } catch (error) {
    return discard(error);
  }
}
