/** Finds runs and plans (studies and groups of repeats) in folders. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readOwnJson } from '../storage/files.js';
import { groupFile, planFile, runFiles } from './reader.js';

const isRun = (path: string) => existsSync(join(path, runFiles.manifest));

/** Maximum depth of the folders to search for runs. A study's runs are two levels below its directory. */
const deepest = 4;

/** Paths of the runs in a folder and its subfolders, sorted by name; only the folder itself if it is a run. */
export function runsBelow(folder: string, depth = 0): readonly string[] {
  if (isRun(folder)) return [folder];
  if (depth > deepest || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((item) => item.isDirectory() && !item.name.startsWith('.') && item.name !== 'node_modules')
    .map(({ name }) => name)
    .toSorted()
    .flatMap((name) => runsBelow(join(folder, name), depth + 1));
}

/** The outermost study below `root` that contains a run; undefined if there is none. */
export function holderOf(name: string, root: string): string | undefined {
  const around = dirname(name);
  if (around === '.') return undefined;
  return holderOf(around, root) ?? (existsSync(join(root, around, planFile)) ? around : undefined);
}

/** The kinds of plans (directories of runs that belong together): the file that marks one, its lock, and its name. */
export const planKinds = {
  repeats: { record: groupFile, lock: runFiles.lock, name: 'repeats' },
  evaluation: { record: planFile, lock: 'evaluation.lock', name: 'an evaluation' },
  sweep: { record: planFile, lock: 'sweep.lock', name: 'a sweep' },
} as const;

export interface PlanDirectory {
  readonly directory: string;
  /** Path of the lock held by the process that executes the plan. */
  readonly lock: string;
}

export function planAt(directory: string): PlanDirectory | undefined {
  for (const [kind, { record, lock }] of Object.entries(planKinds)) {
    const file = join(directory, record);
    if (!existsSync(file)) continue;
    const written = readOwnJson(file) as { readonly kind?: unknown } | undefined;
    if (record === planFile && written?.kind !== kind) continue;
    return { directory, lock: join(directory, lock) };
  }
  return undefined;
}

/** The plan that contains the run at `path`, if any. */
export function planAround(path: string): PlanDirectory | undefined {
  const around = dirname(resolve(path));
  // A study has one folder per experiment, which contains its runs.
  return planAt(around) ?? planAt(dirname(around));
}
