/** Deletes runs, training runs and the directories of plans. */
import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { isLocked } from '../../base/files/lock.js';
import { planAt, runsBelow, trainingRunsBelow } from '../finder.js';
import { planFile, readManifest, runFiles } from '../reader.js';
import { readTraining } from '../training/trainings.js';
import { trainingFiles } from '../training-files.js';

/**
 * The directories to delete for a run, a training run, or a directory of runs: policyloop created each of them. Other
 * files in a directory of runs stay, except in a study's, which is deleted as a whole.
 * @throws UserError if a process is writing there, or the record of a run or training run is damaged
 */
export function removableDirectories(path: string): readonly string[] {
  requireIdle(path);
  if (planAt(path) !== undefined) return [path];
  const runs = runsBelow(path);
  // A training run can be inside another one, and is deleted before it.
  const trainingRuns = trainingRunsBelow(path).toReversed();
  // Throw for a damaged record, because policyloop may not have created the directory.
  for (const run of runs) readManifest(run);
  for (const trainingRun of trainingRuns) readTraining(trainingRun);
  return [...runs, ...trainingRuns];
}

/** Deletes a directory that `removableDirectories` returned. Can be repeated after an interruption. */
export function removeDirectory(path: string): void {
  // The file that makes the directory a run, a training run or a plan is deleted last.
  const isMark = (name: string) => [runFiles.manifest, trainingFiles.about, planFile].includes(name);
  const names = readdirSync(path).toSorted((a, b) => Number(isMark(a)) - Number(isMark(b)));
  for (const name of names) rmSync(join(path, name), { recursive: true, force: true });
  rmdirSync(path);
}

/** @throws UserError while a process is writing to the directory or to a run in it */
function requireIdle(path: string): void {
  const lockedPath = [path, ...runsBelow(path), ...trainingRunsBelow(path)]
    .flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.lock'))
        .map((name) => join(folder, name)),
    )
    .find(isLocked);
  if (lockedPath === undefined) return;
  throw new UserError({
    field: 'run',
    value: dirname(lockedPath),
    message: 'a process is still writing to this directory',
    hint: `stop it with policyloop stop ${dirname(lockedPath)}`,
  });
}

/** Total size of the files in a directory, in bytes; doesn't follow links. */
export function bytesIn(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}
