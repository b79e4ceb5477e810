/** Reading what runs left behind. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { UserError } from '../base/errors.js';
import { harmlessLines } from '../base/terminal-text.js';
import type { Config } from '../config/config.js';
import type { ParameterVector } from '../policies/policy.js';
import { type Demonstration, recordedDemonstrations } from '../prompting/context/demonstrations.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { parseJson } from '../storage/json-depth.js';
import { isLocked } from '../storage/lock.js';
import { readOwnText } from '../storage/regular-file.js';
import type { LogFiles } from './log-lines.js';
import { evaluationsUntil, type RecordedRun, scanLogs, type WholeRun } from './logs.js';
import { groupShape, type Manifest, manifestShape } from './manifest.js';
import { isTraining } from './training-files.js';

/** The files of a run directory. */
export const runFiles = {
  config: 'config.yaml',
  imported: 'imported.json',
  /** Absent where prompts show none. */
  demonstrations: 'demonstrations.json',
  manifest: 'manifest.json',
  evaluations: 'evaluations.jsonl',
  episodes: 'episodes.jsonl',
  calls: 'calls.jsonl',
  events: 'events.jsonl',
  report: 'report.html',
  /** A folder. */
  animations: 'animations',
  /** A folder: the adapter of a run that trained its model, as `model.adapter` takes it. */
  adapter: 'adapter',
  lock: 'run.lock',
} as const;

/** The content of a new run. */
export const nothingRecorded: WholeRun = {
  entries: [],
  episodes: [],
  calls: [],
  events: [],
  iteration: 0,
  lines: { evaluations: 0, episodes: 0, calls: 0, events: 0 },
  faults: [],
};

/**
 * Reads a run into memory without changing it.
 * @throws UserError when there is no run or a file is damaged.
 */
export function readRun(path: string): WholeRun {
  const { episodes, calls, events, ...run } = openLogs(path);
  return { ...run, episodes: [...episodes], calls: [...calls], events: [...events] };
}

/**
 * Opens the logs of a run without changing them: its evaluations are read, the others as they are needed.
 * @param tolerant whether broken lines are left out and named in `faults`, those of the other logs once they are read
 * @throws UserError when there is no run or a file is damaged; a line that only looks whole, once it is read
 */
export function openLogs(path: string, tolerant = false): RecordedRun {
  readManifest(path);
  return scanLogs(logsIn(path), tolerant).recorded;
}

/** Paths of the logs of a run. */
export const logsIn = (path: string): LogFiles => ({
  evaluations: join(path, runFiles.evaluations),
  episodes: join(path, runFiles.episodes),
  calls: join(path, runFiles.calls),
  events: join(path, runFiles.events),
});

/**
 * The evaluations of complete iterations, from the one log that holds them: those of calls and episodes are a hundred
 * times as large.
 */
export function readEvaluations(path: string, { iterations }: Manifest): readonly BufferEntry[] {
  return evaluationsUntil(logsIn(path), iterations.done);
}

/** The size of the logs of a run. */
export const logBytes = (path: string): number =>
  Object.values(logsIn(path)).reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

/** What a run took over when it began: it goes on with that, whatever became of the files that it is from. */
export interface TakenOver {
  /** Parameters of an earlier run. */
  readonly imported: readonly ParameterVector[];
  /** Episodes that its prompts show. */
  readonly demonstrations: readonly Demonstration[];
}

/** @throws UserError for demonstrations that are lost or damaged */
export function readTakenOver(path: string, config: Pick<Config, 'demonstrations'>): TakenOver {
  const file = join(path, runFiles.imported);
  return {
    imported: existsSync(file) ? (parseJson(readOwnText(file)) as ParameterVector[]) : [],
    demonstrations: readDemonstrations(path, config),
  };
}

/** The episodes that the prompts of a run of this config show. @throws UserError where they are lost or damaged */
export function readDemonstrations(
  path: string,
  { demonstrations }: Pick<Config, 'demonstrations'>,
): readonly Demonstration[] {
  if (demonstrations === undefined) return [];
  const file = join(path, runFiles.demonstrations);
  if (existsSync(file)) return readShaped(file, recordedDemonstrations);
  throw new UserError({
    file,
    message: 'this run has lost the demonstrations that its prompts show',
    remedy: 'restore this file from a copy, or start a new run',
  });
}

/** @throws UserError when `path` holds no run, or its manifest is damaged. */
export function readManifest(path: string): Manifest {
  const file = join(path, runFiles.manifest);
  if (!existsSync(file)) throw noRun(path);
  return readShaped(file, manifestShape) as unknown as Manifest;
}

/** `group.json` of the repeats at `path`. */
export function readGroup(path: string): z.output<typeof groupShape> {
  return readShaped(join(path, groupFile), groupShape);
}

function readShaped<T extends z.ZodType>(file: string, shape: T): z.output<T> {
  const damaged = (message: string) =>
    new UserError({
      file,
      message,
      remedy: 'restore this file from a copy; the logs beside it are not concerned',
    });
  let content: unknown;
  try {
    // Its texts are shown on terminals, and it may come from elsewhere.
    content = parseJson(readOwnText(file), (value) =>
      typeof value === 'string' ? harmlessLines(value) : value,
    );
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw damaged(code === undefined ? 'this file is not valid JSON' : `this file can't be read (${code})`);
  }
  const { success, data, error } = shape.safeParse(content);
  if (success) return data;
  const issue = error.issues[0]!;
  throw damaged(`this file is damaged: ${issue.path.join('.') || 'content'}: ${issue.message}`);
}

/** An error that says that there is no run at `path`, and what is there instead. */
export function noRun(path: string): UserError {
  if (existsSync(join(path, groupFile))) {
    return new UserError({
      message: 'this directory holds repeats; name one of them',
      value: path,
      alternatives: readGroup(path).runs.map((name) => join(path, name)),
    });
  }
  if (isTraining(path)) {
    return new UserError({
      message: 'this directory is that of a training, not of a run',
      value: path,
      remedy: `policyloop show ${path} tells how far it came and what its result is for`,
    });
  }
  return new UserError({
    message: existsSync(path) ? 'this directory holds no run' : 'there is no such run',
    value: path,
    remedy: 'policyloop list shows the runs there are',
  });
}

export type RunStatus = Manifest['status'] | 'crashed' | 'paused';

/** `running` in a manifest that no process holds means that the run was cut off. */
export function statusOf(path: string, { paused, status }: Pick<Manifest, 'paused' | 'status'>): RunStatus {
  if (status !== 'running') return status;
  if (!isLocked(join(path, runFiles.lock))) return 'crashed';
  return paused ? 'paused' : 'running';
}

/** Marks the parent directory of repeats. */
export const groupFile = 'group.json';

/** Marks the directory of a study: of what runs of several experiments, two levels below, say together. */
export const planFile = 'plan.json';

/** Marks the parent directory of the runs of a collection. */
export const collectionFile = 'collection.json';
