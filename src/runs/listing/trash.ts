/** Runs that are no longer wanted: they go into a folder beside the others, from where they can be taken back. */
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { claimDirectory } from '../../storage/files.js';
import { isLocked } from '../../storage/lock.js';
import { runsBelow } from '../finder.js';
import { type RunPlaces, trainingFolders } from './listing.js';

const trashFolder = '.trash';

/** The trash of a run: in the runs directory or the folder of trainings that it lies below, else beside it. */
function trashOf(path: string, places: RunPlaces): string {
  const holder = trainingFolders(places).find((folder) => path.startsWith(`${folder}/`));
  return join(holder ?? dirname(path), trashFolder);
}

/**
 * Moves a run, or a directory of runs, or a training into the trash.
 * @returns where it lies now
 * @throws UserError while a process writes there
 */
export function moveToTrash(path: string, places: RunPlaces): string {
  requireIdle(path);
  const place = claimDirectory(trashOf(path, places), basename(path));
  // A directory takes the place of an empty one in one step.
  renameSync(path, place);
  return place;
}

/** @throws UserError while a process writes to the directory, or to a run in it */
export function requireIdle(path: string): void {
  const locked = [path, ...runsBelow(path)]
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.lock'))
        .map((name) => join(folder, name)),
    )
    .find(isLocked);
  if (locked === undefined) return;
  throw new UserError({
    ...{ field: 'run', value: dirname(locked), message: 'a process is writing here' },
    remedy: `policyloop stop ${dirname(locked)} ends it`,
  });
}

/** The trash folders that there are, with the names of what lies in them. */
export function trashed(
  places: RunPlaces,
): readonly { readonly folder: string; readonly names: readonly string[] }[] {
  return trainingFolders(places)
    .map((folder) => join(folder, trashFolder))
    .filter((folder) => existsSync(folder))
    .map((folder) => ({ folder, names: readdirSync(folder).toSorted() }));
}

/** Removes a trash folder for good. */
export const emptyTrash = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** Bytes of the files in a directory; links are not followed. */
export function bytesIn(path: string): number {
  const found = lstatSync(path);
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}
