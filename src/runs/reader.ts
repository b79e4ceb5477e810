/** Reading what runs left behind. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { UserError } from '../base/errors.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { parseJson } from '../storage/json-depth.js';
import { readJsonLines } from '../storage/json-lines.js';
import { isLocked } from '../storage/lock.js';
import { readRegularFile } from '../storage/regular-file.js';
import type { CallRecord, EndedCall, LoggedEvent } from './events.js';
import { groupShape, type Manifest, manifestShape } from './manifest.js';

/** The files of a run directory. */
export const runFiles = {
  config: 'config.yaml',
  imported: 'imported.json',
  manifest: 'manifest.json',
  evaluations: 'evaluations.jsonl',
  episodes: 'episodes.jsonl',
  calls: 'calls.jsonl',
  events: 'events.jsonl',
  report: 'report.html',
  /** A folder. */
  animations: 'animations',
  lock: 'run.lock',
} as const;

/** The content of a run, consistent up to its last complete iteration. */
export interface RecordedRun {
  readonly entries: readonly BufferEntry[];
  readonly episodes: readonly EpisodeRecord[];
  /** All calls, those of an unfinished iteration too: they were paid for. */
  readonly calls: readonly CallRecord[];
  /** Answers of an unfinished iteration of which nothing was made yet; only of a run that is to go on. */
  readonly arrived?: readonly EndedCall[];
  readonly events: readonly LoggedEvent[];
  /** The last complete iteration; 0 before the first. */
  readonly iteration: number;
}

/** The content of a new run. */
export const nothingRecorded: RecordedRun = {
  entries: [],
  episodes: [],
  calls: [],
  events: [],
  iteration: 0,
};

/**
 * Reads a run without changing it (or, with `repair`, cutting torn last lines).
 * @throws UserError when there is no run or a file is damaged.
 */
export function readRun(
  path: string,
  options: { readonly repair: boolean } = { repair: false },
): RecordedRun {
  readManifest(path);
  const allEvents = readLog<LoggedEvent>(path, 'events', options);
  const allEntries = readLog<BufferEntry>(path, 'evaluations', options);
  const allEpisodes = readLog<EpisodeRecord>(path, 'episodes', options);
  const calls = readLog<CallRecord>(path, 'calls', options);
  const last = allEvents
    .filter((event) => event.kind === 'iteration-finished')
    .findLast(
      ({ lines }) =>
        lines !== undefined &&
        lines.evaluations <= allEntries.length &&
        lines.episodes <= allEpisodes.length &&
        lines.calls <= calls.length,
    );
  const iteration = last?.iteration ?? 0;
  const entries = allEntries.filter((entry) => entry.iteration <= iteration);
  const kept = new Set(entries.map((entry) => `${entry.iteration}/${entry.candidate}`));
  const beyond = allEvents.findIndex(
    (event) => event.kind === 'iteration-finished' && event.iteration > iteration,
  );
  return {
    entries,
    episodes: allEpisodes.filter((episode) => kept.has(`${episode.iteration}/${episode.candidate}`)),
    calls,
    events: beyond < 0 ? allEvents : allEvents.slice(0, beyond),
    iteration,
  };
}

/**
 * The evaluations of complete iterations, from the one log that holds them: those of calls and episodes are a hundred
 * times as large.
 */
export function readEvaluations(path: string, { iterations }: Manifest): readonly BufferEntry[] {
  const entries = readLog<BufferEntry>(path, 'evaluations', { repair: false });
  return entries.filter(({ iteration }) => iteration <= iterations.done);
}

const place = { iteration: 'number', candidate: 'number' } as const;

/** The fields that every line of a log must have. */
const logFields = {
  events: { kind: 'string' },
  evaluations: { ...place, 'parameters.0': 'number' },
  episodes: { ...place, episode: 'number' },
  calls: { ...place, attempt: 'number', 'outcome.kind': 'string' },
} as const;

function readLog<T>(path: string, log: keyof typeof logFields, options: { readonly repair: boolean }): T[] {
  const problem = (item: unknown) => lacking(item, logFields[log]);
  return readJsonLines<T>(join(path, runFiles[log]), { ...options, problem }) ?? [];
}

/** The first missing field: a damaged line, or one of another file, must not pass for an empty one. */
function lacking(item: unknown, fields: Readonly<Record<string, 'number' | 'string'>>): string | undefined {
  for (const [field, type] of Object.entries(fields)) {
    const value = field
      .split('.')
      .reduce<unknown>((held, key) => (held as Record<string, unknown> | null)?.[key], item);
    if (typeof value !== type) return `this line has no ${type} ${field}`;
  }
  return undefined;
}

/** The size of the logs of a run. */
export const logBytes = (path: string): number =>
  Object.keys(logFields).reduce((sum, log) => {
    const file = join(path, runFiles[log as keyof typeof logFields]);
    return sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  }, 0);

/** Parameters that a run took over from an earlier one when it began. */
export function readImported(path: string): readonly ParameterVector[] {
  const file = join(path, runFiles.imported);
  return existsSync(file) ? (parseJson(stateText(file)) as ParameterVector[]) : [];
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

/** In bytes; logs may be larger, state files are not. */
const largestState = 64 * 2 ** 20;

const stateText = (file: string): string => readRegularFile(file, largestState).toString('utf8');

function readShaped<T extends z.ZodType>(file: string, shape: T): z.output<T> {
  const text = stateText(file);
  const damaged = (message: string) =>
    new UserError({
      file,
      message,
      remedy: 'restore this file from a copy; the logs beside it are not concerned',
    });
  let content: unknown;
  try {
    content = parseJson(text);
  } catch {
    throw damaged('this file is not valid JSON');
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
  return new UserError({
    message: existsSync(path) ? 'this directory holds no run' : 'there is no such run',
    value: path,
    remedy: 'policyloop list shows the runs there are',
  });
}

export type RunStatus = Manifest['status'] | 'crashed';

/** `running` in a manifest that no process holds means that the run was cut off. */
export function statusOf(path: string, manifest: Pick<Manifest, 'status'>): RunStatus {
  return manifest.status === 'running' && !isLocked(join(path, runFiles.lock)) ? 'crashed' : manifest.status;
}

/** Marks the parent directory of repeats. */
export const groupFile = 'group.json';

/** Marks the directory of a study: of what runs of several experiments, two levels below, say together. */
export const planFile = 'plan.json';

/** Marks the parent directory of the runs of a collection. */
export const collectionFile = 'collection.json';
