/** A set of runs that belong together: repeats, baselines, an evaluation, a sweep, a collection. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { requireCount } from '../base/context.js';
import { changingProblems, UserError, unlessRefused } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { assemble, closeEnvironment } from '../experiment/assemble.js';
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
export const isComplete = (path: string): boolean =>
  unlessRefused(
    () => existsSync(join(path, runFiles.manifest)) && readManifest(path).status === 'completed',
  ) ?? false;

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Hashes of everything that affects the results of each setting or config of a study. */
export type ConfigHashes = Readonly<Record<string, string>>;

/**
 * Where a study is played; the same command finds the place again. More settings can be added to an existing one.
 * @param key of the hashes in the study's record
 * @param name of the directory, to which a hash is appended
 * @param changed what else a setting has now, for the error
 */
export function placeOf(
  {
    changed,
    hashes,
    key,
    kind,
    name,
  }: {
    readonly kind: 'controls' | 'sweep' | 'models';
    readonly key: 'configs' | 'settings';
    readonly hashes: ConfigHashes;
    readonly name: string;
    readonly changed: string;
  },
  {
    cwd,
    out,
    runsDir,
  }: { readonly cwd: string; readonly out?: string | undefined; readonly runsDir: string },
): PlanPlace {
  const directory = resolve(cwd, out ?? join(runsDir, `${name}-${hashOf(hashes).slice(0, 10)}`));
  const compatible = (written: unknown): ConfigHashes => {
    if (written === undefined) return {};
    const there = (written ?? {}) as { readonly kind?: unknown } & Partial<Record<typeof key, ConfigHashes>>;
    const before = there[key] ?? {};
    const other = Object.entries(hashes).find(([one, hash]) => (before[one] ?? hash) !== hash);
    if (there.kind === kind && other === undefined) return before;
    throw new UserError({
      field: '--out',
      message:
        other === undefined
          ? `holds something else than ${planKinds[kind].name}`
          : `holds runs of ${other[0]} with another ${changed}`,
      value: directory,
      remedy: 'name another directory, or none',
    });
  };
  const record = (written: unknown) => ({ version: 1, kind, [key]: { ...compatible(written), ...hashes } });
  return { directory, record };
}

/** Assembles a config once before anything is played, so that errors surface early. @param what names it in errors */
export const checkConfig = (
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  what: string,
): Promise<void> =>
  changingProblems(
    async () => closeEnvironment(await assemble(config, env)),
    (problem) => ({ ...problem, message: `${problem.message} (${what})` }),
  );
