import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Low, LowSync } from 'lowdb';
import { JSONFile } from 'lowdb/node';
import { UserError } from './errors.js';
import { JsonLinesFile, keepFirstLines } from './json-lines.js';
import { lockRun } from './lock.js';
import type { Manifest } from './manifest.js';
import type { ParameterVector } from './policies/policy.js';
import {
  groupFile,
  nothingRecorded,
  type RecordedRun,
  readManifest,
  readRun,
  runFiles,
} from './recorded-run.js';
import type { BufferEntry } from './replay-buffer.js';
import type { CallRecord, EpisodeRecord, LoggedEvent, RunEvent } from './run-log.js';

/** Keys of the manifest to set, or to remove where undefined. */
export type ManifestChanges = { readonly [K in keyof Manifest]?: Manifest[K] | undefined };

/**
 * When what is recorded is on disk for good. `iteration`: after each, so that a crash of the machine costs no model
 * call that was complete. `run`: at its end; until then the end of this process costs the iteration it is in, a crash
 * of the machine perhaps the run. For thousands of runs that take a second each.
 */
export type Durability = 'iteration' | 'run';

/** The one writer of a run directory. */
export interface RunDirectory {
  readonly path: string;
  readonly manifest: Manifest;
  /** What the run holds already: nothing for a new one. */
  readonly recorded: RecordedRun;
  /** Writes one event to the file it belongs to. */
  record(event: RunEvent): void;
  update(changes: ManifestChanges): void;
  /**
   * Makes everything recorded so far durable, beside whatever comes next: waits only for the previous commit. With
   * durability `run` it leaves that to `close`.
   */
  commit(): Promise<void>;
  /** Commits, waits, and gives the lock back. */
  close(): Promise<void>;
}

/**
 * Makes a new run directory.
 * @throws UserError when there is something in it already: a run is never overwritten.
 */
export function createRunDirectory(
  path: string,
  content: {
    readonly configYaml: string;
    readonly manifest: Manifest;
    readonly imported: readonly ParameterVector[];
    readonly now: () => Date;
    readonly durability?: Durability;
  },
): RunDirectory {
  requireEmpty(path);
  makeDirectory(path);
  const release = lockRun(join(path, runFiles.lock));
  try {
    writeFileSync(join(path, runFiles.config), content.configYaml);
    if (content.imported.length > 0) {
      writeFileSync(join(path, runFiles.imported), JSON.stringify(content.imported));
    }
    // At once, so that whatever happens from here on there is a run to resume.
    writeFileSync(join(path, runFiles.manifest), JSON.stringify(content.manifest, null, 2));
    const { manifest, now, durability } = content;
    return openWriter({ path, manifest, recorded: nothingRecorded, release, now, durability });
  } catch (error) {
    release();
    throw error;
  }
}

/** Replaces a file in one step: a crash leaves the old one or the new one. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

/**
 * Opens a run to go on with it: takes the lock, cuts torn lines, and rolls back what an unfinished iteration left
 * (its model calls stay).
 */
export function resumeRunDirectory(path: string, now: () => Date, durability?: Durability): RunDirectory {
  const manifest = readManifest(path);
  const release = lockRun(join(path, runFiles.lock));
  try {
    const recorded = readRun(path, { repair: true });
    keepOnly(path, recorded);
    return openWriter({ path, manifest, recorded, release, now, durability });
  } catch (error) {
    release();
    throw error;
  }
}

function openWriter(run: {
  readonly path: string;
  readonly manifest: Manifest;
  readonly recorded: RecordedRun;
  readonly release: () => void;
  readonly now: () => Date;
  readonly durability?: Durability | undefined;
}): RunDirectory {
  const { path, recorded, release, now } = run;
  const atEnd = run.durability === 'run';
  const manifest = new Low<Manifest>(new JSONFile(join(path, runFiles.manifest)), run.manifest);
  const evaluationsFile = new JsonLinesFile<BufferEntry>(join(path, runFiles.evaluations), 0, atEnd);
  const evaluations = new LowSync<BufferEntry[]>(evaluationsFile, []);
  evaluations.read();
  const episodes = new JsonLinesFile<EpisodeRecord>(
    join(path, runFiles.episodes),
    recorded.episodes.length,
    atEnd,
  );
  const calls = new JsonLinesFile<CallRecord>(join(path, runFiles.calls), recorded.calls.length, atEnd);
  const events = new JsonLinesFile<LoggedEvent>(join(path, runFiles.events), 0, atEnd);
  let committing: Promise<unknown> = Promise.resolve();

  const update = (changes: ManifestChanges): void => {
    manifest.data = { ...manifest.data, ...changes, updated: now().toISOString() } as Manifest;
  };
  // The events go last: an iteration counts as complete only with its evaluations on disk.
  const files = [evaluationsFile, episodes, calls, events];
  const commit = async (): Promise<void> => {
    await committing;
    committing = Promise.all([
      evaluationsFile.flush(),
      episodes.flush(),
      calls.flush(),
      manifest.write(),
    ]).then(() => events.flush());
    // A failure is thrown by the next commit, not as an unhandled rejection.
    committing.catch(() => undefined);
  };
  const drain = async (): Promise<void> => {
    for (const file of files) file.drain();
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
    commit: atEnd ? drain : commit,
    async close() {
      try {
        // What the manifest will say of a run whose logs are not yet on disk has to follow them.
        if (atEnd) await Promise.all(files.map((file) => file.flush()));
        await commit();
        await committing;
      } finally {
        for (const file of files) file.close();
        release();
      }
    },
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

/** Makes a directory below `root` for this process alone: the name, or the name with a number. */
export function claimDirectory(root: string, name: string): string {
  makeDirectory(root);
  for (let n = 1; ; n++) {
    const path = join(root, n === 1 ? name : `${name}-${n}`);
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** @throws UserError when there is something in it already: a run is never overwritten. */
export function requireEmpty(path: string): void {
  if (!existsSync(path) || readdirSync(path).length === 0) return;
  const isRun = existsSync(join(path, runFiles.manifest)) || existsSync(join(path, groupFile));
  throw new UserError({
    field: '--run-dir',
    message: isRun ? 'there is a run in this directory already' : 'this directory is not empty',
    value: path,
    remedy: isRun
      ? `policyloop resume ${path} continues it; name another directory for a new run`
      : 'name a new or an empty directory',
  });
}

/** Makes a directory and those around it. */
export function makeDirectory(path: string): void {
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
