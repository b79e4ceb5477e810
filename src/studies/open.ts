/** The directory of a plan: its record of the plan, and its lock. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/errors.js';
import { planKinds } from '../runs/finder.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { makeDirectory, readOwnJson, replaceFile } from '../storage/files.js';
import { underLease } from '../storage/lease.js';
import { isLocked, lockRun } from '../storage/lock.js';
import type { Plan } from './plan.js';

/** Where a plan is played. */
export interface PlanPlace {
  readonly directory: string;
  /** Creates the new record of the plan from the existing one; throws if that belongs to another plan. */
  readonly record: (written: unknown) => object;
  /** The option or field that names the directory, for errors (default: `--out`). */
  readonly field?: string;
}

/**
 * Creates or reopens the directory of a plan and locks it for writing.
 * @returns a function that releases the lock
 * @throws UserError if the directory contains something else, or another process is writing there
 */
export function openPlan(kind: Plan['kind'], { directory, record, field = '--out' }: PlanPlace): () => void {
  const { lock, name, record: recordName } = planKinds[kind];
  const file = join(directory, recordName);
  const isNew = !existsSync(file);
  // A process killed before writing the record leaves only these.
  const isOurs = (item: string) => item.startsWith(lock) || item === `${recordName}.new`;
  if (isNew && existsSync(directory) && !readdirSync(directory).every(isOurs)) {
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
    replaceFile(file, `${JSON.stringify(record(readOwnJson(file)), null, 2)}\n`);
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * The same for a process that plays part of the plan next to others that also write there.
 * @throws UserError while a process plays the whole plan
 */
export async function openPart(kind: Plan['kind'], { directory, record }: PlanPlace): Promise<void> {
  const { lock, record: recordName } = planKinds[kind];
  makeDirectory(directory);
  await underLease(join(directory, '.lease'), () => {
    if (isLocked(join(directory, lock)))
      throw new UserError({
        field: '--part',
        value: directory,
        message: 'another process plays all of these runs',
        remedy: 'stop it, or let it play',
      });
    const file = join(directory, recordName);
    const written = readOwnJson(file);
    const text = `${JSON.stringify(record(written), null, 2)}\n`;
    if (JSON.stringify(written, null, 2) !== text.trimEnd()) replaceFile(file, text);
  });
}

/** Whether the run at `path` is complete; false if its manifest can't be read. */
export function isComplete(path: string): boolean {
  try {
    return existsSync(join(path, runFiles.manifest)) && readManifest(path).status === 'completed';
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
