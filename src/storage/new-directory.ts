import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../errors.js';
import { groupFile, runFiles } from '../runs/reader.js';
import { isLocked } from './lock.js';

/** Makes a directory below `root` for this process alone: the name, or the name with a number. */
export function claimDirectory(root: string, name: string): string {
  makeDirectory(root);
  for (let n = 1; ; n++) {
    const path = join(root, n === 1 ? name : `${name}-${n}`);
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** @throws UserError when there is something in it already: a run is never overwritten. */
export function requireEmpty(path: string): void {
  if (!existsSync(path)) return;
  const names = readdirSync(path);
  if (names.length === 0 || isCutOffStart(path, names)) return;
  const isRun = existsSync(join(path, runFiles.manifest)) || existsSync(join(path, groupFile));
  throw new UserError({
    field: '--run-dir',
    message: isRun ? 'there is a run in this directory already' : 'this directory is not empty',
    value: path,
    remedy: isRun
      ? `policyloop resume ${path} continues it; name another directory for a new run`
      : 'name a new or an empty directory',
  });
}

/** What a process wrote that was killed before there was a run. Its lock, or a draft of it, tells it from a user's files. */
function isCutOffStart(path: string, names: readonly string[]): boolean {
  const begun = [runFiles.config, runFiles.imported, runFiles.manifest, groupFile].flatMap((name) => [
    name,
    `${name}.new`,
  ]);
  const isOurs = (name: string) =>
    name.startsWith(runFiles.lock) ||
    (begun.includes(name) && name !== runFiles.manifest && name !== groupFile);
  const hasLock = names.some((name) => name.startsWith(runFiles.lock));
  return names.every(isOurs) && hasLock && !isLocked(join(path, runFiles.lock));
}

/** Makes a directory and those around it. */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new UserError({
      field: '--run-dir',
      message: `this directory can't be made (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      value: path,
      remedy: 'name a directory that can be written to',
    });
  }
}
