import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Low, LowSync } from 'lowdb';
import { JSONFile } from 'lowdb/node';
import { UserError } from '../errors.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { endOfLine, JsonLinesFile, keepFirstLines, readJsonLines, withPath } from '../storage/json-lines.js';
import { isLocked, lockRun } from '../storage/lock.js';
import { makeDirectory } from '../storage/new-directory.js';
import type { CallRecord, LoggedEvent, RunEvent } from './events.js';
import type { Manifest } from './manifest.js';
import { groupFile, nothingRecorded, type RecordedRun, readManifest, readRun, runFiles } from './reader.js';

/** Keys of the manifest to set, or to remove where undefined. */
type ManifestChanges = { readonly [K in keyof Manifest]?: Manifest[K] | undefined };

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
    begin(path, {
      [runFiles.config]: content.configYaml,
      ...(content.imported.length > 0 && { [runFiles.imported]: JSON.stringify(content.imported) }),
      // Last and at once: from here on there is a run to resume.
      [runFiles.manifest]: JSON.stringify(content.manifest, null, 2),
    });
    const { manifest, now, durability } = content;
    return openWriter({ path, manifest, recorded: nothingRecorded, release, now, durability });
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Writes the files that make an empty directory a run, or a group of them; the last one makes it that. What fails
 * leaves the directory empty, so that the same command can be given again.
 */
function begin(path: string, files: Readonly<Record<string, string>>): void {
  try {
    for (const [name, content] of Object.entries(files)) replaceFile(join(path, name), content);
  } catch (error) {
    for (const name of Object.keys(files)) rmSync(join(path, name), { force: true });
    throw error;
  }
}

/**
 * Makes the directory of repeats.
 * @param group content of its `group.json`
 * @throws UserError when there is something in it already
 */
export function createGroupDirectory(path: string, configYaml: string, group: object): void {
  requireEmpty(path);
  makeDirectory(path);
  const release = lockRun(join(path, runFiles.lock));
  try {
    begin(path, {
      [runFiles.config]: configYaml,
      [groupFile]: `${JSON.stringify(group, null, 2)}\n`,
    });
  } finally {
    release();
  }
}

/**
 * Replaces a file in one step: a crash leaves the old one or the new one, and what fails the old one.
 * @throws what the system says, with the path
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.new`;
  try {
    writeFileSync(draft, content);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw withPath(error, draft);
  }
}

/**
 * Opens a run to go on with it: takes the lock, cuts torn lines, and rolls back what an unfinished iteration left
 * (its model calls stay).
 */
export function resumeRunDirectory(path: string, now: () => Date, durability?: Durability): RunDirectory {
  readManifest(path);
  const release = lockRun(join(path, runFiles.lock));
  try {
    // Only now: another process may have written till then.
    const manifest = readManifest(path);
    const recorded = repairRun(path);
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
  const manifestFile = join(path, runFiles.manifest);
  const manifest = new Low<Manifest>(new JSONFile(manifestFile), run.manifest);
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
      manifest.write().catch((error: unknown) => {
        throw withPath(error, manifestFile);
      }),
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

/**
 * Reads a run that is to go on: cuts torn lines, and rolls back what an unfinished iteration left (its model calls
 * stay). Only the one writer of a run may do so.
 * @throws UserError with path and byte when a log is damaged so that more would be lost than that
 */
function repairRun(path: string): RecordedRun {
  const recorded = readRun(path, { repair: true });
  requireWhole(path, recorded);
  keepOnly(path, recorded);
  return recorded;
}

/**
 * A crash leaves at most what came after the last commit, and the commit that it interrupted: two iterations. More
 * than that beyond the last complete one means that lines of a log are missing, and to cut it all off would lose it.
 */
function requireWhole(path: string, { entries, iteration }: RecordedRun): void {
  const file = join(path, runFiles.evaluations);
  const all = readJsonLines<BufferEntry>(file, { repair: false }) ?? [];
  const last = all.at(-1)?.iteration ?? 0;
  if (last <= iteration + 2) return;
  throw new UserError({
    file,
    line: entries.length + 1,
    message:
      `evaluations of ${last - iteration} iterations stand here (from byte ${endOfLine(file, entries.length)} on) ` +
      `of which the logs beside it don't say that they were complete: lines of ` +
      `${runFiles.events}, ${runFiles.episodes} or ${runFiles.calls} are missing`,
    remedy: `restore those files from a copy; or remove the lines from this one on to go on after iteration ${iteration}`,
  });
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

/** @throws UserError when there is something in it already: a run is never overwritten. */
export function requireEmpty(path: string): void {
  if (!existsSync(path)) return;
  const names = readdirSync(path);
  if (names.length === 0 || isCutOffStart(path, names)) return;
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

/** What a process wrote that was killed before there was a run. Its lock, or a draft of it, tells it from a user's files. */
function isCutOffStart(path: string, names: readonly string[]): boolean {
  const begun = [runFiles.config, runFiles.imported, runFiles.manifest, groupFile].flatMap((name) => [
    name,
    `${name}.new`,
  ]);
  const isOurs = (name: string) =>
    name.startsWith(runFiles.lock) ||
    (begun.includes(name) && name !== runFiles.manifest && name !== groupFile);
  const hasLock = names.some((name) => name.startsWith(runFiles.lock));
  return names.every(isOurs) && hasLock && !isLocked(join(path, runFiles.lock));
}
