import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { UserError } from '../base/errors.js';
import { parseJson } from '../base/files/json-depth.js';
import { isLocked } from '../base/files/lock.js';
import { readOwnText } from '../base/files/regular-file.js';
import { safeLines } from '../base/terminal-text.js';
import type { ParameterVector } from '../policies/policy.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { LogFiles } from './log-lines.js';
import { evaluationsUntil, type LoadedRun, type RecordedRun, scanLogs } from './logs.js';
import { type Manifest, manifestShape } from './manifest.js';
import { hasTraining } from './training-files.js';

export const runFiles = {
  config: 'config.yaml',
  imported: 'imported.json',
  manifest: 'manifest.json',
  evaluations: 'evaluations.jsonl',
  episodes: 'episodes.jsonl',
  calls: 'calls.jsonl',
  events: 'events.jsonl',
  report: 'report.html',
  lock: 'run.lock',
} as const;

export const emptyRun: LoadedRun = {
  entries: [],
  episodes: [],
  calls: [],
  events: [],
  iteration: 0,
  lines: { evaluations: 0, episodes: 0, calls: 0, events: 0 },
  faults: [],
};

/** Reads a run into memory without changing it. @throws UserError if there is no run or a file is damaged */
export function readRun(path: string): LoadedRun {
  const { episodes, calls, events, ...run } = openLogs(path);
  return { ...run, episodes: [...episodes], calls: [...calls], events: [...events] };
}

/**
 * Opens the logs of a run without changing them: scans them all, and keeps only the evaluations in memory.
 * @param isTolerant if true, broken lines are skipped and listed in `faults`
 * @throws UserError if there is no run, its manifest is damaged, or, unless `isTolerant`, a log has a broken line
 */
export function openLogs(path: string, isTolerant = false): RecordedRun {
  readManifest(path);
  return scanLogs(logFilesIn(path), isTolerant).recorded;
}

export const logFilesIn = (path: string): LogFiles => ({
  evaluations: join(path, runFiles.evaluations),
  episodes: join(path, runFiles.episodes),
  calls: join(path, runFiles.calls),
  events: join(path, runFiles.events),
});

/** Reads the evaluations of complete iterations. Skips the other logs, which can be a hundred times as large. */
export function readEvaluations(path: string, { iterations }: Manifest): readonly BufferEntry[] {
  return evaluationsUntil(logFilesIn(path), iterations.done);
}

/** Reads the policies that a run copied from an earlier one (`warmup.from`) when it started. */
export function readImportedPolicies(path: string): readonly ParameterVector[] {
  const file = join(path, runFiles.imported);
  return existsSync(file) ? (parseJson(readOwnText(file)) as ParameterVector[]) : [];
}

/** @throws UserError if `path` holds no run, or its manifest is damaged */
export function readManifest(path: string): Manifest {
  const file = join(path, runFiles.manifest);
  if (!existsSync(file)) throw noRunError(path);
  return readValidJson(file, manifestShape) as unknown as Manifest;
}

function readValidJson<T extends z.ZodType>(file: string, shape: T): z.output<T> {
  const damagedError = (message: string) =>
    new UserError({ file, message, hint: 'check its permissions or restore a copy; the logs are separate' });
  let content: unknown;
  try {
    // Manifests may be untrusted, and terminals show their text. Programs are escaped later, when they are shown;
    // an environment's description isn't shown.
    content = parseJson(readOwnText(file), (value, key) =>
      typeof value === 'string' && key !== 'program' && key !== 'description' ? safeLines(value) : value,
    );
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw damagedError('this file is not valid JSON');
    throw damagedError(`this file can't be read (${code})`);
  }
  const { success, data, error } = shape.safeParse(content);
  if (success) return data;
  const issue = error.issues[0]!;
  throw damagedError(`this file is damaged: ${issue.path.join('.') || 'content'}: ${issue.message}`);
}

/** Returns the error for a path that isn't a run; explains what the path contains instead. */
export function noRunError(path: string): UserError {
  if (hasTraining(path)) {
    return new UserError({
      message: 'this directory contains a training run, not an experiment',
      value: path,
      hint: `for its progress and how to use its result, run policyloop show ${path}`,
    });
  }
  return new UserError({
    message: existsSync(path) ? 'this directory contains no run' : 'there is no such run',
    value: path,
    hint: 'list your runs with policyloop list',
  });
}

export type RunStatus = Manifest['status'] | 'crashed';

/** The current status: a run recorded as `running` has crashed if no process holds its lock. */
export function statusOf(path: string, { status }: Pick<Manifest, 'status'>): RunStatus {
  if (status !== 'running') return status;
  return isLocked(join(path, runFiles.lock)) ? 'running' : 'crashed';
}

/** Marks the directory of a study, whose runs are two levels down. */
export const planFile = 'plan.json';
