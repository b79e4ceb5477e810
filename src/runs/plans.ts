/** Directories that many runs are played in as one plan: repeats, controls, an evaluation, a sweep, a collection. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readOwnJson } from '../storage/files.js';
import { collectionFile, groupFile, planFile, runFiles } from './reader.js';

/** The file of a plan's record, its lock, and its name in words. */
export const planKinds = {
  repeats: { record: groupFile, lock: runFiles.lock, name: 'repeats' },
  controls: { record: planFile, lock: 'controls.lock', name: 'a table of controls' },
  evaluation: { record: planFile, lock: 'evaluation.lock', name: 'an evaluation' },
  sweep: { record: planFile, lock: 'sweep.lock', name: 'a sweep' },
  models: { record: planFile, lock: 'models.lock', name: 'a comparison of models' },
  collection: { record: collectionFile, lock: 'collection.lock', name: 'a collection' },
} as const;

export interface PlanDirectory {
  readonly directory: string;
  /** Path of the lock that the process that plays it holds. */
  readonly lock: string;
  /** File that tells what was asked of that process, and done; absent where nothing was. */
  readonly changes: string;
}

/** The plan of a directory; undefined where it is none's. */
export function planAt(directory: string): PlanDirectory | undefined {
  for (const [kind, { record, lock }] of Object.entries(planKinds)) {
    const file = join(directory, record);
    if (!existsSync(file)) continue;
    const written = readOwnJson(file) as { readonly kind?: unknown } | undefined;
    // Evaluations of earlier versions name no kind.
    if (record === planFile && (written?.kind ?? 'evaluation') !== kind) continue;
    return { directory, lock: join(directory, lock), changes: join(directory, 'changes.jsonl') };
  }
  return undefined;
}

/** The plan that the run at `path` was played by; undefined where it stands alone. */
export function planAround(path: string): PlanDirectory | undefined {
  const around = dirname(resolve(path));
  // Runs of a study lie in a folder for each experiment.
  return planAt(around) ?? planAt(dirname(around));
}

/** How many runs at once `key=value`s ask for: undefined where they ask for other things, `'wrong'` for no count. */
export function jobsAsked(overrides: readonly string[]): number | 'wrong' | undefined {
  const [first, ...others] = overrides.filter((text) => text.startsWith('jobs='));
  if (first === undefined) return undefined;
  const isCount = /^jobs=[1-9]\d{0,3}$/.test(first) && others.length === 0 && overrides.length === 1;
  return isCount ? Number(first.slice('jobs='.length)) : 'wrong';
}
