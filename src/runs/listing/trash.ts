/** Moves unwanted runs to a trash folder, so they can be restored. */
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { claimDirectory } from '../../storage/files.js';
import { isLocked } from '../../storage/lock.js';
import { runsBelow } from '../finder.js';
import { type RunPlaces, trainingFolders } from './listing.js';

const trashFolder = '.trash';

/** The trash folder for a run: in the folder of runs or training runs that contains it, otherwise next to it. */
function trashOf(path: string, places: RunPlaces): string {
  const holder = trainingFolders(places).find((folder) => path.startsWith(`${folder}/`));
  return join(holder ?? dirname(path), trashFolder);
}

/**
 * Moves a run, a directory of runs, or a training run to the trash.
 * @returns its new path
 * @throws UserError while a process is writing to it
 */
export function moveToTrash(path: string, places: RunPlaces): string {
  requireIdle(path);
  const place = claimDirectory(trashOf(path, places), basename(path));
  // The new name is an empty directory, which renaming replaces atomically.
  renameSync(path, place);
  return place;
}

/** @throws UserError while a process is writing to the directory or to a run in it */
export function requireIdle(path: string): void {
  const locked = [path, ...runsBelow(path)]
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.lock'))
        .map((name) => join(folder, name)),
    )
    .find(isLocked);
  if (locked === undefined) return;
  const where = { field: 'run', value: dirname(locked) };
  throw new UserError({
    ...{ ...where, message: 'a process is still writing to this directory' },
    remedy: `stop it with policyloop stop ${where.value}`,
  });
}

/** Existing trash folders and their contents. */
export function trashed(
  places: RunPlaces,
): readonly { readonly folder: string; readonly names: readonly string[] }[] {
  return trainingFolders(places)
    .map((folder) => join(folder, trashFolder))
    .filter((folder) => existsSync(folder))
    .map((folder) => ({ folder, names: readdirSync(folder).toSorted() }));
}

export const emptyTrash = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** Total size of the files in a directory, in bytes; doesn't follow links. */
export function bytesIn(path: string): number {
  const found = lstatSync(path);
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}
