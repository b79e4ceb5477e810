/** Finds runs, training runs and plans (sweeps and evaluations) in folders. */
import { type Dirent, existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { planFile, runFiles } from './reader.js';
import { hasTraining, trainingFiles } from './training-files.js';

/** A run, a training run, or the directory of a plan. */
export interface FoundItem {
  readonly kind: 'run' | 'training' | 'plan';
  readonly path: string;
  /** Path below the searched folder, with slashes; empty for the folder itself. */
  readonly name: string;
  /** Name of the outermost plan that contains it below the searched folder; null if there is none. */
  readonly within: string | null;
}

/** Maximum depth of the folders to search. A plan's runs are two levels below its directory. */
const maxDepth = 5;

/** Finds the items in a folder and its subfolders, sorted by name. Doesn't search inside runs. */
export function itemsBelow(
  path: string,
  name = '',
  within: string | null = null,
  depth = 0,
): readonly FoundItem[] {
  const entries = entriesOf(path);
  const has = (file: string) => entries.some((entry) => entry.name === file);
  const isTrainingRun = (has(trainingFiles.about) || has(trainingFiles.metrics)) && hasTraining(path);
  const isPlan = has(planFile);
  if (has(runFiles.manifest)) return [{ kind: 'run', path, name, within }];
  const kind = isTrainingRun ? 'training' : isPlan ? 'plan' : undefined;
  const ownItem: readonly FoundItem[] = kind === undefined ? [] : [{ kind, path, name, within }];
  if (depth > maxDepth) return ownItem;
  const innerPlan = within ?? (isPlan && name !== '' ? name : null);
  const folders = entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .map((entry) => entry.name)
    .toSorted();
  return [
    ...ownItem,
    ...folders.flatMap((folder) =>
      itemsBelow(join(path, folder), name === '' ? folder : `${name}/${folder}`, innerPlan, depth + 1),
    ),
  ];
}

function entriesOf(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

const pathsBelow = (folder: string, wantedKind: FoundItem['kind']) =>
  itemsBelow(folder).flatMap(({ kind, path }) => (kind === wantedKind ? path : []));

/** Paths of the runs in a folder and its subfolders, sorted by name; only the folder itself if it is a run. */
export const runsBelow = (folder: string): readonly string[] => pathsBelow(folder, 'run');

/** Paths of the training runs in a folder and its subfolders, sorted by name; one can contain others. */
export const trainingRunsBelow = (folder: string): readonly string[] => pathsBelow(folder, 'training');

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
export function enclosingPlan(path: string): PlanDirectory | undefined {
  const parentFolder = dirname(resolve(path));
  // A plan has one folder per setting or experiment, which contains its runs.
  return planAt(parentFolder) ?? planAt(dirname(parentFolder));
}
