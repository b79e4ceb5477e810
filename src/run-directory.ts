import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Low, LowSync } from 'lowdb';
import { JSONFile } from 'lowdb/node';
import { UserError } from './errors.js';
import { JsonLinesFile, keepFirstLines, readJsonLines } from './json-lines.js';
import { isLocked, lockRun } from './lock.js';
import type { Manifest } from './manifest.js';
import type { BufferEntry } from './replay-buffer.js';
import type { CallRecord, EpisodeRecord, LoggedEvent, RunEvent } from './run-log.js';

/** The files of a run directory. */
export const runFiles = {
  config: 'config.yaml',
  manifest: 'manifest.json',
  evaluations: 'evaluations.jsonl',
  episodes: 'episodes.jsonl',
  calls: 'calls.jsonl',
  events: 'events.jsonl',
  report: 'report.html',
  lock: 'run.lock',
} as const;

/** The one writer of a run directory. */
export interface RunDirectory {
  readonly path: string;
  readonly manifest: Manifest;
  /** What the run holds already: nothing for a new one. */
  readonly recorded: RecordedRun;
  /** Writes one event to the file it belongs to. */
  record(event: RunEvent): void;
  update(changes: Partial<Manifest>): void;
  /**
   * Makes everything recorded so far durable, beside whatever comes next: waits only for the previous commit.
   */
  commit(): Promise<void>;
  /** Commits, waits, and gives the lock back. */
  close(): Promise<void>;
}

/** The content of a run, consistent up to its last complete iteration. */
export interface RecordedRun {
  readonly entries: readonly BufferEntry[];
  readonly episodes: readonly EpisodeRecord[];
  /** All of them, of an unfinished iteration too: they were paid for. */
  readonly calls: readonly CallRecord[];
  readonly events: readonly LoggedEvent[];
  /** The last complete iteration; 0 before the first. */
  readonly iteration: number;
}

/** What a new run holds. */
export const nothingRecorded: RecordedRun = {
  entries: [],
  episodes: [],
  calls: [],
  events: [],
  iteration: 0,
};

/**
 * Makes a new run directory.
 * @throws UserError when there is something in it already: a run is never overwritten.
 */
export function createRunDirectory(
  path: string,
  content: { readonly configYaml: string; readonly manifest: Manifest; readonly now: () => Date },
): RunDirectory {
  if (existsSync(path) && readdirSync(path).length > 0) {
    const isRun = existsSync(join(path, runFiles.manifest));
    throw new UserError({
      field: '--run-dir',
      message: isRun ? 'there is a run in this directory already' : 'this directory is not empty',
      value: path,
      remedy: isRun
        ? `policyloop resume ${path} continues it; name another directory for a new run`
        : 'name a new or an empty directory',
    });
  }
  makeDirectory(path);
  const release = lockRun(join(path, runFiles.lock));
  writeFileSync(join(path, runFiles.config), content.configYaml);
  return openWriter(path, content.manifest, nothingRecorded, release, content.now);
}

/**
 * Opens a run to go on with it: takes the lock, cuts torn lines, and rolls back what an unfinished iteration left
 * (its model calls stay).
 */
export function resumeRunDirectory(path: string, now: () => Date): RunDirectory {
  const manifest = readManifest(path);
  const release = lockRun(join(path, runFiles.lock));
  try {
    const recorded = readRun(path, { repair: true });
    keepOnly(path, recorded);
    return openWriter(path, manifest, recorded, release, now);
  } catch (error) {
    release();
    throw error;
  }
}

function openWriter(
  path: string,
  initial: Manifest,
  recorded: RecordedRun,
  release: () => void,
  now: () => Date,
): RunDirectory {
  const manifest = new Low<Manifest>(new JSONFile(join(path, runFiles.manifest)), initial);
  const evaluationsFile = new JsonLinesFile<BufferEntry>(join(path, runFiles.evaluations));
  const evaluations = new LowSync<BufferEntry[]>(evaluationsFile, []);
  evaluations.read();
  const episodes = new JsonLinesFile<EpisodeRecord>(join(path, runFiles.episodes), recorded.episodes.length);
  const calls = new JsonLinesFile<CallRecord>(join(path, runFiles.calls), recorded.calls.length);
  const events = new JsonLinesFile<LoggedEvent>(join(path, runFiles.events));
  let committing: Promise<unknown> = Promise.resolve();

  const update = (changes: Partial<Manifest>): void => {
    manifest.data = { ...manifest.data, ...changes, updated: now().toISOString() };
  };
  const commit = async (): Promise<void> => {
    await committing;
    // The events go last: an iteration counts as complete only with its evaluations on disk.
    committing = Promise.all([
      evaluationsFile.flush(),
      episodes.flush(),
      calls.flush(),
      manifest.write(),
    ]).then(() => events.flush());
    // A failure is thrown by the next commit, not as an unhandled rejection.
    committing.catch(() => undefined);
  };
  return {
    path,
    recorded,
    get manifest() {
      return manifest.data;
    },
    update,
    record(event) {
      switch (event.kind) {
        case 'call-finished':
          calls.append([event.call]);
          break;
        case 'warmup-evaluated':
        case 'candidate-evaluated':
          episodes.append(event.episodes);
          evaluations.data.push(event.entry);
          evaluations.write();
          break;
        case 'iteration-finished': {
          const lines = {
            evaluations: evaluationsFile.length,
            episodes: episodes.length,
            calls: calls.length,
          };
          events.append([{ time: now().toISOString(), ...event, lines }]);
          break;
        }
        default:
          events.append([{ time: now().toISOString(), ...event }]);
      }
    },
    commit,
    async close() {
      try {
        await commit();
        await committing;
      } finally {
        for (const file of [evaluationsFile, episodes, calls, events]) file.close();
        release();
      }
    },
  };
}

/**
 * Reads a run without changing it (or, with `repair`, cutting torn last lines).
 * @throws UserError when there is no run or a file is damaged.
 */
export function readRun(
  path: string,
  options: { readonly repair: boolean } = { repair: false },
): RecordedRun {
  readManifest(path);
  const read = <T>(file: string): T[] => readJsonLines<T>(join(path, file), options) ?? [];
  const allEvents = read<LoggedEvent>(runFiles.events);
  const allEntries = read<BufferEntry>(runFiles.evaluations);
  const allEpisodes = read<EpisodeRecord>(runFiles.episodes);
  const calls = read<CallRecord>(runFiles.calls);
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

/** All files are in the order of their writing, so what to keep is always a beginning. */
function keepOnly(path: string, recorded: RecordedRun): void {
  const lengths = [
    [runFiles.evaluations, recorded.entries.length],
    [runFiles.episodes, recorded.episodes.length],
    [runFiles.events, recorded.events.length],
  ] as const;
  for (const [file, lines] of lengths) {
    if (existsSync(join(path, file))) keepFirstLines(join(path, file), lines);
  }
}

/** @throws UserError when `path` holds no run. */
export function readManifest(path: string): Manifest {
  const file = join(path, runFiles.manifest);
  if (!existsSync(file)) {
    throw new UserError({
      message: existsSync(path) ? 'this directory holds no run' : 'there is no such run',
      value: path,
      remedy: 'policyloop list shows the runs there are',
    });
  }
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch {
    throw new UserError({
      file,
      message: 'this manifest is not valid JSON',
      remedy: 'restore it from a copy',
    });
  }
}

/** `running` in a manifest that no process holds means that the run was cut off. */
export function statusOf(path: string, manifest: Manifest): Manifest['status'] | 'crashed' {
  return manifest.status === 'running' && !isLocked(join(path, runFiles.lock)) ? 'crashed' : manifest.status;
}

/** A directory below `root` that does not exist yet: the name, or the name with a number. */
export function freeDirectory(root: string, name: string): string {
  for (let n = 1; ; n++) {
    const path = join(root, n === 1 ? name : `${name}-${n}`);
    if (!existsSync(path)) return path;
  }
}

/** Finds a run by path, or by name below `root`. */
export function findRun(run: string, root: string): string {
  for (const path of [resolve(run), resolve(root, basename(run))]) {
    if (existsSync(join(path, runFiles.manifest)) || existsSync(join(path, groupFile))) return path;
  }
  readManifest(resolve(run));
  return resolve(run);
}

/** Marks the parent directory of repeats. */
export const groupFile = 'group.json';

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new UserError({
      field: '--run-dir',
      message: `this directory can't be made (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      value: path,
      remedy: 'name a directory that can be written to',
    });
  }
}
