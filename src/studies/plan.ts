/** A set of runs that belong together: a sweep or an evaluation. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { mapThrownProblems, redactAddresses, UserError, unlessRejected } from '../base/errors.js';
import { makeDirectory, readOwnJson, replaceFile } from '../base/files/files.js';
import { isLocked, takeLock } from '../base/files/lock.js';
import { shellWord } from '../base/text/one-line.js';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import type { SlurmConfig } from '../config/many-runs.js';
import { assemble, closeEnvironment } from '../experiment/setup/assemble.js';
import type { LimitName } from '../runs/calls.js';
import { planLock } from '../runs/finder.js';
import { planFile, readManifest, runFiles } from '../runs/reader.js';
import type { PlanPart } from './part.js';

/** A run of a plan, as plain data that any thread or process can execute. */
export interface PlanEntry {
  /** Path of the run, relative to the plan's directory. */
  readonly path: string;
  /** Resolved config, with the run's own seed. */
  readonly config: Config;
  /** Name of the setting or model. After a failure, the remaining runs of the same arm are skipped. */
  readonly arm: string;
}

export interface Plan {
  readonly kind: 'evaluation' | 'sweep';
  /** The runs, in the order in which they start. */
  readonly entries: readonly PlanEntry[];
  /** Limits that all runs of the plan share; parts of a plan divide them. */
  readonly limits?: LimitsConfig;
  /** The number of runs as a product for display, e.g. `3 settings × 5 seeds`. */
  readonly shape: string;
  /** Notes about the configs, copied to the log of each run. */
  readonly notes?: readonly string[] | undefined;
}

/** Outcome of a run of a plan. */
export interface RunEnd {
  readonly kind: 'completed' | 'interrupted' | 'failed';
  /** Reason for the failure. */
  readonly message?: string;
  /** The plan-wide limit that ended it. */
  readonly limit?: LimitName;
  /** True if it ended before this command or was executed by another process. */
  readonly isOld?: boolean;
}

/** File names of the results of studies. */
export const resultFiles = { evaluation: 'evaluation.json', sweep: 'sweep.json' } as const;

/** Options that control how runs are executed and shown. */
export interface ScheduleArguments {
  readonly jobs?: number | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
  /** If set, executes only this part of the runs; other processes execute the rest. */
  readonly part?: PlanPart | undefined;
  /** If set, submits the remaining runs to a cluster. */
  readonly cluster?: SlurmConfig | undefined;
  /** True to open the page at the end. */
  readonly open?: boolean | undefined;
}

/** Arguments of a command that plans runs. */
export interface PlanArguments extends ScheduleArguments {
  readonly overrides: readonly string[];
  /** Directory of the runs and the result. Default: one in `runsDir` whose name contains a hash of the plan. */
  readonly out?: string | undefined;
  readonly runsDir: string;
  /** True to submit the runs to a cluster. */
  readonly slurm?: boolean | undefined;
}

/** @throws UserError if runs of the config would have no confirmed returns to compare */
export function requireConfirmation({ confirmation }: Config, file: string): void {
  if (confirmation.candidates > 0) return;
  throw new UserError({
    file,
    field: 'confirmation.candidates',
    message:
      'is 0, but runs are compared by their confirmed returns, because observed returns are biased by selection',
    hint: 'set confirmation.candidates=3',
  });
}

/** The directory of a plan. */
export interface PlanStore {
  readonly directory: string;
  /** Returns the plan's new record, given the existing one. @throws UserError if that belongs to another plan */
  readonly record: (written: unknown) => object;
}

const kindNames = { evaluation: 'an evaluation', sweep: 'a sweep' } as const;

/** @throws UserError always: the directory contains something else */
export function rejectDirectory(kind: Plan['kind'], directory: string, message?: string): never {
  throw new UserError({
    field: '--out',
    message: message ?? `contains something other than ${kindNames[kind]}`,
    value: directory,
    hint: 'choose another directory, or omit --out',
  });
}

/**
 * Creates or reopens the directory of a plan and locks it for writing.
 * @returns a function that releases the lock
 * @throws UserError if the directory contains something else, or another process is writing there
 */
export function openPlan(kind: Plan['kind'], { directory, record }: PlanStore, command?: string): () => void {
  const file = join(directory, planFile);
  // A process that is killed before it writes the record leaves only these files.
  const isOurs = (item: string) => item.startsWith(planLock) || item === `${planFile}.new`;
  if (!existsSync(file) && existsSync(directory) && !readdirSync(directory).every(isOurs))
    rejectDirectory(kind, directory);
  makeDirectory(directory, '--out');
  const release = takeLock(join(directory, planLock));
  try {
    replaceFile(file, `${JSON.stringify({ ...record(readOwnJson(file)), command }, null, 2)}\n`);
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Like `openPlan`, but for one of several processes that run parts of the plan at the same time.
 * @throws UserError while a process executes the whole plan, or if the directory contains another plan
 */
export function openPart({ directory, record }: PlanStore): void {
  makeDirectory(directory, '--out');
  if (isLocked(join(directory, planLock)))
    throw new UserError({
      field: '--part',
      value: directory,
      message: 'another process is executing all of these runs',
      hint: 'stop it, or wait for it to finish',
    });
  const file = join(directory, planFile);
  const stored = readOwnJson(file) as { readonly command?: string } | undefined;
  const text = `${JSON.stringify({ ...record(stored), command: stored?.command }, null, 2)}\n`;
  // All parts write the same record.
  const isWritten = () => JSON.stringify(readOwnJson(file), null, 2) === text.trimEnd();
  if (isWritten()) return;
  try {
    replaceFile(file, text);
  } catch (error) {
    if (!isWritten()) throw error;
  }
}

/** Returns the command as typed in a shell, without secrets in addresses; undefined if a program called the library. */
export const commandOf = ({ words }: Pick<CommandContext, 'words'>): string | undefined =>
  words && redactAddresses(['policyloop', ...words].map(shellWord).join(' '));

/** True if the run at `path` is complete; false if its manifest can't be read. */
export const isComplete = (path: string): boolean =>
  unlessRejected(
    () => existsSync(join(path, runFiles.manifest)) && readManifest(path).status === 'completed',
  ) ?? false;

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Assembles a config before any run starts, so that errors surface early. @param name identifies it in errors */
export const checkConfig = (
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): Promise<void> =>
  mapThrownProblems(
    async () => closeEnvironment(await assemble(config, env)),
    (problem) => ({ ...problem, message: `${problem.message} (${name})` }),
  );
