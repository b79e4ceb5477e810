/** The directory of a plan: what it says of the plan, and its one writer. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../errors.js';
import { collectionFile, groupFile, planFile, readManifest, runFiles } from '../runs/reader.js';
import { readJson } from '../storage/checked-json.js';
import { lockRun } from '../storage/lock.js';
import { makeDirectory } from '../storage/new-directory.js';
import { replaceFile } from '../storage/replace-file.js';
import type { Plan } from './plan.js';

/** Where the record of a plan lies, what locks it, and what a person calls it. */
const kinds = {
  repeats: { record: groupFile, lock: runFiles.lock, name: 'repeats' },
  controls: { record: planFile, lock: 'controls.lock', name: 'a table of controls' },
  evaluation: { record: planFile, lock: 'evaluation.lock', name: 'an evaluation' },
  collection: { record: collectionFile, lock: 'collection.lock', name: 'a collection' },
} as const;

/** The one right to write into the directory of a plan, until it is released. */
export interface OpenPlan {
  /** Whether an earlier command began it. */
  readonly goesOn: boolean;
  release(): void;
}

/**
 * Makes the directory of a plan, or goes on with the one that is there.
 * @param record what to write of the plan, given what is written there; throws where that is of another plan
 * @param field what names the directory, for errors
 * @throws UserError when the directory holds something else, or another process writes there
 */
export function openPlan(
  directory: string,
  kind: Plan['kind'],
  record: (written: unknown) => object,
  field = '--out',
): OpenPlan {
  const { lock, name, record: recordName } = kinds[kind];
  const file = join(directory, recordName);
  const goesOn = existsSync(file);
  if (!goesOn && existsSync(directory) && readdirSync(directory).some((item) => item !== lock)) {
    throw new UserError({
      field,
      message: `holds something else than ${name}`,
      value: directory,
      remedy: 'name a new or an empty directory',
    });
  }
  makeDirectory(directory);
  const release = lockRun(join(directory, lock));
  try {
    replaceFile(file, `${JSON.stringify(record(readJson(file)), null, 2)}\n`);
    return { goesOn, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Whether the run at `path` has come to its end; one whose manifest can't be read has not. */
export function isComplete(path: string): boolean {
  try {
    return existsSync(join(path, runFiles.manifest)) && readManifest(path).status === 'completed';
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
