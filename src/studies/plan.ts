/** A set of runs that belong together: repeats, baselines, an evaluation, a sweep, a collection. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { requireCount } from '../base/context.js';
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { planKinds } from '../runs/finder.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { makeDirectory, readOwnJson, replaceFile } from '../storage/files.js';
import { underLease } from '../storage/lease.js';
import { isLocked, lockRun } from '../storage/lock.js';
import type { Part, PlanEnd } from './part.js';

/** One run of a plan, as plain data that any thread or process can play. */
export interface PlanEntry {
  /** Directory of the run below the plan's. */
  readonly path: string;
  /** Resolved, with the run's own seed and `repeats: 1`. A collection computes it on access. */
  readonly config: Config;
  /** Labels that identify a run within a study. */
  readonly experiment?: string;
  readonly arm?: string;
  /** 0-based; results are written whenever all runs of a repeat have ended. */
  readonly repeat?: number;
}

export interface Plan<Entry extends PlanEntry = PlanEntry> {
  readonly kind: 'repeats' | 'controls' | 'evaluation' | 'sweep' | 'models' | 'collection';
  /** In starting order. */
  readonly entries: readonly Entry[];
  /** Runs of the same directory that are not played here but whose usage counts towards `limits.total`. */
  readonly before?: readonly Entry[];
  /** True if any config has `limits.total`, which all runs of the plan share. */
  readonly sharesLimits: boolean;
  /** After a failure, runs with the same value of this label are skipped; `others` names those that continue. */
  readonly afterFailure?: { readonly label: 'experiment' | 'arm'; readonly others: string };
  /** The factors of the number of runs, for the first line of progress. */
  readonly shape?: string;
  /** Notes from importing the config, copied to the log of each run. */
  readonly notes?: readonly string[] | undefined;
}

/** Options that control how runs are played and shown. */
export interface PlayArguments {
  /** Number of concurrent runs (default: 1). */
  readonly jobs?: number | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
  /** Plays only this part of the runs; other processes play the rest. */
  readonly part?: Part | undefined;
  /** Plays the plan elsewhere if runs remain. */
  readonly elsewhere?: Elsewhere | undefined;
}

/** Has the runs of a plan played elsewhere; returns undefined while that is in progress. */
export type Elsewhere = (plan: Plan, directory: string) => Promise<PlanEnd | undefined>;

/** @throws UserError unless `--jobs` is a positive integer */
export function requireJobs({ jobs }: PlayArguments): void {
  requireCount('--jobs', jobs, 1);
}

/**
 * Collections have thousands of short runs. None gets a report; a baseline's run becomes durable only at its
 * end, and one torn by a system crash starts over.
 */
export const isBulk = ({ kind }: Pick<Plan, 'kind'>) => kind === 'collection';

/** A comparison of models also counts rejected replies, so a run without a proposal isn't a failure there. */
export const countsRejections = ({ kind }: Pick<Plan, 'kind'>) => kind === 'models';

/** @throws UserError if a run of the plan would ask a person */
export function refusePersons(plan: Plan): void {
  const { entries } = plan;
  // Runs of a collection differ only in their tasks, and their configs are computed on access.
  const isAsking = entries
    .slice(0, isBulk(plan) ? 1 : entries.length)
    .some(({ config: { feedback, model } }) => feedback?.from === 'person' && model.provider !== 'replayed');
  if (!isAsking) return;
  throw new UserError({
    field: 'feedback.from',
    value: 'person',
    message: `a person is asked by a run that is played alone, not by the ${entries.length} of a plan: they would say the same of many, and know one from the other`,
    alternatives: ['vision'],
    remedy: 'policyloop run plays one; or set feedback.from to vision, or feedback= to leave it out',
  });
}

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
