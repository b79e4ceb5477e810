/** Stops runs, agent runs, training runs and plans that other processes execute. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../base/errors.js';
import { isLocked } from '../../base/files/lock.js';
import { planAt, runsBelow } from '../finder.js';
import { readManifest, runFiles, statusOf } from '../reader.js';
import { requestStop } from '../stop-request.js';
import { readTraining } from '../training/trainings.js';
import { hasTraining } from '../training-files.js';
import type { RunFolders } from './listing.js';
import { findRuns, type NameMatch } from './names.js';

export interface StopResult {
  /** Path of the run, training run or plan. */
  readonly run: string;
  /** `asked`: its process hasn't ended yet, e.g. because a call is in flight. */
  readonly outcome: 'stopped' | 'asked';
}

/** True if a process executes the run, training run or plan at `path`. */
function isRunning(path: string): boolean {
  if (hasTraining(path)) return readTraining(path).status === 'running';
  if (existsSync(join(path, runFiles.manifest))) return statusOf(path, readManifest(path)) === 'running';
  return isPlanRunning(path);
}

/** True if a process executes the plan in a directory, or one of its runs. */
function isPlanRunning(path: string): boolean {
  const plan = planAt(path);
  return plan !== undefined && (isLocked(plan.lock) || runsBelow(path).some(isRunning));
}

/**
 * Asks the process that executes `path` to stop, and waits up to `seconds` until it has ended.
 * @param now if true, the calls and evaluations in flight are aborted
 * @throws UserError if no process executes it
 */
export async function stopRun(path: string, now: boolean, seconds: number): Promise<StopResult> {
  if (!isRunning(path))
    throw new UserError({
      field: 'run',
      value: path,
      message: "this run isn't running",
      hint: 'list running runs with policyloop list status=running',
    });
  requestStop(path, now);
  for (let tries = Math.ceil(10 * seconds); tries > 0 && isRunning(path); tries--) await delay(100);
  return { run: path, outcome: isRunning(path) ? 'asked' : 'stopped' };
}

/** Stops the runs with these names that are running. @throws UserError if none is running */
export async function stopRuns(
  names: readonly string[],
  folders: RunFolders,
  { now, seconds }: { readonly now: boolean; readonly seconds: number },
): Promise<readonly StopResult[]> {
  const isWhole = ({ kind, path }: NameMatch) => kind === 'training' || isPlanRunning(path);
  const runningPaths = findRuns(names, folders, isWhole).filter(isRunning);
  if (runningPaths.length === 0)
    throw new UserError({
      field: 'run',
      value: names.join(' '),
      message: 'none of these runs is running',
      hint: 'list running runs with policyloop list status=running',
    });
  return Promise.all(runningPaths.map((path) => stopRun(path, now, seconds)));
}

/** @param now as in `stopRun` */
export const stoppedText = ({ outcome }: Pick<StopResult, 'outcome'>, now: boolean): string =>
  outcome === 'stopped' ? 'stopped' : now ? 'is stopping' : 'will stop when pending work is done';

export const alreadyRunningError = (path: string): UserError =>
  new UserError({
    field: 'run',
    value: path,
    message: 'this run is already running',
    hint: `stop it first: policyloop stop ${path}`,
  });
