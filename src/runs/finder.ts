/** Finds runs and plans (sweeps and evaluations) in folders. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { planFile, runFiles } from './reader.js';
import { isTraining } from './training-files.js';

const isRun = (path: string) => existsSync(join(path, runFiles.manifest));

/** Maximum depth of the folders to search. A study's runs are two levels below its directory. */
const deepest = 4;

/** Paths of the runs in a folder and its subfolders, sorted by name; only the folder itself if it is a run. */
export const runsBelow = (folder: string): readonly string[] => foldersBelow(folder, isRun);

/** Paths of the training runs in a folder and its subfolders, like `runsBelow`. */
export const trainingsBelow = (folder: string): readonly string[] =>
  foldersBelow(folder, (path) => isTraining(path) || isRun(path)).filter((path) => !isRun(path));

function foldersBelow(folder: string, isWanted: (path: string) => boolean, depth = 0): readonly string[] {
  if (isWanted(folder)) return [folder];
  if (depth > deepest || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((item) => item.isDirectory() && !item.name.startsWith('.') && item.name !== 'node_modules')
    .map(({ name }) => name)
    .toSorted()
    .flatMap((name) => foldersBelow(join(folder, name), isWanted, depth + 1));
}

/** The outermost study below `root` that contains a run; undefined if there is none. */
export function holderOf(name: string, root: string): string | undefined {
  const around = dirname(name);
  if (around === '.') return undefined;
  return holderOf(around, root) ?? (existsSync(join(root, around, planFile)) ? around : undefined);
}

/** Name of the lock of a plan (a directory of runs that belong together), held by the process that executes it. */
export const planLock = 'plan.lock';

export interface PlanDirectory {
  readonly directory: string;
  /** Path of the lock held by the process that executes the plan. */
  readonly lock: string;
}

export function planAt(directory: string): PlanDirectory | undefined {
  if (!existsSync(join(directory, planFile))) return undefined;
  return { directory, lock: join(directory, planLock) };
}

/** The plan that contains the run at `path`, if any. */
export function planAround(path: string): PlanDirectory | undefined {
  const around = dirname(resolve(path));
  // A study has one folder per experiment, which contains its runs.
  return planAt(around) ?? planAt(dirname(around));
}
