import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Low } from 'lowdb';
import { replaceFileAsync } from '../base/files/files.js';
import { JsonLinesFile, readJsonLines } from '../base/files/json-lines.js';
import { takeLock } from '../base/files/lock.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { CallRecord } from './calls.js';
import type { GameRecord, LoggedEvent, RunEvent } from './events.js';
import { CallEncoder, type EncodedCall } from './log-lines.js';
import { concatenate, type RecordedRun, repairLogs } from './logs.js';
import type { Manifest } from './manifest.js';
import { emptyRun, logFilesIn, readManifest, runFiles } from './reader.js';

/** Keys of the manifest to set, or to remove if undefined. */
type ManifestChanges = { readonly [K in keyof Manifest]?: Manifest[K] | undefined };

/** Writes the logs and the manifest of a run, whose lock it holds. */
export interface RunDirectory {
  readonly path: string;
  readonly manifest: Manifest;
  /** The content of the run when it was opened; empty after `close`. */
  readonly recorded: RecordedRun;
  /** Appends an event to the logs that record it. */
  record(event: RunEvent): void;
  update(changes: ManifestChanges): void;
  /** Writes a request to disk before it is sent, as a call without a reply, which counts until the reply arrives. */
  send(lostCall: CallRecord): Promise<SentRequest>;
  /**
   * Makes everything recorded so far durable in the background; waits only for the previous commit, so a system crash
   * loses at most the last two iterations.
   */
  commit(): Promise<void>;
  /** Commits, waits until everything is on disk, and releases the lock. */
  close(): Promise<void>;
}

/**
 * Opens a run to resume it: takes the lock, cuts torn lines, and rolls back unfinished iterations, except their
 * model calls.
 */
export function resumeRunDirectory(path: string, now: () => Date): RunDirectory {
  readManifest(path);
  const release = takeLock(join(path, runFiles.lock));
  try {
    removeDrafts(path);
    // Read again under the lock: another process may have written in the meantime.
    const manifest = readManifest(path);
    const recorded = repairLogs(logFilesIn(path));
    const unlogged = unloggedCalls(path, recorded.calls);
    const calls = unlogged.length === 0 ? recorded.calls : concatenate(recorded.calls, unlogged);
    return new RunWriter({ path, manifest, recorded: { ...recorded, calls }, unlogged, release, now });
  } catch (error) {
    release();
    throw error;
  }
}

/** Removes temporary files that a killed process left behind. */
function removeDrafts(path: string): void {
  for (const file of Object.values(runFiles)) rmSync(join(path, `${file}.new`), { force: true });
}

export class RunWriter implements RunDirectory {
  readonly path: string;
  #recorded: RecordedRun;
  readonly #now: () => Date;
  readonly #release: () => void;
  readonly #manifest: Low<Manifest>;
  readonly #calls = new CallEncoder();
  readonly #files: {
    readonly evaluations: JsonLinesFile<BufferEntry>;
    readonly episodes: JsonLinesFile<EpisodeRecord | GameRecord>;
    readonly calls: JsonLinesFile<EncodedCall>;
    readonly events: JsonLinesFile<LoggedEvent>;
  };
  readonly #sentRequests: SentRequests;
  #committing: Promise<unknown> = Promise.resolve();

  /** @param run.unlogged recorded calls that aren't in the log yet; they are appended to it */
  constructor(
    run: Pick<RunDirectory, 'path' | 'manifest' | 'recorded'> & {
      readonly unlogged?: readonly CallRecord[];
      readonly release: () => void;
      readonly now: () => Date;
    },
  ) {
    const { path, recorded, unlogged = [] } = run;
    this.path = path;
    this.#recorded = recorded;
    this.#now = run.now;
    this.#release = run.release;
    const file = join(path, runFiles.manifest);
    const write = (manifest: Manifest) => replaceFileAsync(file, JSON.stringify(manifest, null, 2));
    this.#manifest = new Low<Manifest>({ read: async () => run.manifest, write }, run.manifest);
    const openLog = <T>(name: keyof RecordedRun['lines']) =>
      new JsonLinesFile<T>(join(path, runFiles[name]), recorded.lines[name]);
    this.#files = {
      evaluations: openLog('evaluations'),
      episodes: openLog('episodes'),
      calls: openLog('calls'),
      events: openLog('events'),
    };
    for (const call of unlogged) this.#logCall(call);
    this.#committing = this.#files.calls.flush();
    this.#sentRequests = new SentRequests(path);
  }

  get recorded(): RecordedRun {
    return this.#recorded;
  }

  get manifest(): Manifest {
    return this.#manifest.data;
  }

  update(changes: ManifestChanges): void {
    const updatedAt = this.#now().toISOString();
    this.#manifest.data = { ...this.#manifest.data, ...changes, updated: updatedAt } as Manifest;
  }

  send(lostCall: CallRecord): Promise<SentRequest> {
    return this.#sentRequests.recordRequest(lostCall, () => this.#committing);
  }

  record(event: RunEvent): void {
    const { evaluations, episodes, calls, events } = this.#files;
    switch (event.kind) {
      case 'call-finished':
        this.#logCall(event.call);
        break;
      case 'warmup-evaluated':
      case 'candidate-evaluated':
        episodes.append(event.episodes);
        evaluations.append([event.entry]);
        break;
      case 'game-finished':
        episodes.append([event.game]);
        break;
      case 'iteration-finished': {
        const lines = { evaluations: evaluations.length, episodes: episodes.length, calls: calls.length };
        events.append([{ time: this.#now().toISOString(), ...event, lines }]);
        break;
      }
      case 'reading':
        break;
      default:
        events.append([{ time: this.#now().toISOString(), ...event }]);
    }
  }

  async commit(): Promise<void> {
    await this.#flush();
  }

  async close(): Promise<void> {
    const files = Object.values(this.#files);
    try {
      await this.#flush();
      await this.#committing;
      await this.#sentRequests.close();
    } finally {
      for (const file of files) file.close();
      // Free the memory of the logs.
      this.#recorded = emptyRun;
      this.#release();
    }
  }

  #logCall(call: CallRecord): void {
    const { calls } = this.#files;
    calls.append([this.#calls.encode(call, calls.length)]);
  }

  /** Flushes events last, so an iteration never counts as complete before its evaluations are on disk. */
  async #flush(): Promise<void> {
    await this.#committing;
    const { evaluations, episodes, calls, events } = this.#files;
    this.#committing = Promise.all([
      evaluations.flush(),
      episodes.flush(),
      calls.flush(),
      this.#manifest.write(),
    ]).then(() => events.flush());
    // The next commit throws the error; this only prevents an unhandled rejection.
    this.#committing.catch(() => undefined);
  }
}

interface RequestLine {
  readonly request: number;
  readonly calls: readonly CallRecord[];
}

export interface SentRequest {
  /** Replaces the call recorded for this request, so that a failed attempt that may have been billed is counted. */
  retried(lostCall: CallRecord): void;
  answered(calls: readonly CallRecord[]): void;
}

/** The file of requests; see `SentRequests`. */
const requestsFile = 'underway.jsonl';

/** Distinguishes calls for the same position at different times. */
const callKey = ({ attempt, candidate, iteration, time }: CallRecord) =>
  `${iteration}/${candidate}/${attempt}/${time}`;

/** The calls of a process that ended before logging them. */
export function unloggedCalls(path: string, loggedCalls: Iterable<CallRecord>): readonly CallRecord[] {
  const lines = readJsonLines<RequestLine>(join(path, requestsFile), { repair: false }) ?? [];
  if (lines.length === 0) return [];
  const loggedKeys = new Set<string>();
  for (const call of loggedCalls) loggedKeys.add(callKey(call));
  const callsByRequest = new Map(lines.map(({ calls, request }) => [request, calls]));
  return [...callsByRequest.values()].flat().filter((call) => !loggedKeys.has(callKey(call)));
}

/**
 * Writes requests to disk before they are sent, so that a crash can't hide a paid call. For each request, the file has
 * the calls that count for it: first one without a reply, then one for each reply. The run also logs them in
 * `calls.jsonl` once it has judged them. Nothing else may write to the file.
 */
class SentRequests {
  readonly #path: string;
  #file: JsonLinesFile<RequestLine>;
  #iteration = 0;
  #requestCount = 0;
  #unansweredCount = 0;
  #ready: Promise<unknown> = Promise.resolve();

  /** The caller must already have logged the calls that an earlier process left in the file. */
  constructor(directory: string) {
    this.#path = join(directory, requestsFile);
    this.#file = new JsonLinesFile(this.#path);
  }

  /**
   * @param lostCall the call that counts for the request until its reply arrives
   * @param whenLogged returns a promise that resolves once the calls of earlier iterations are on disk
   */
  async recordRequest(lostCall: CallRecord, whenLogged: () => Promise<unknown>): Promise<SentRequest> {
    if (lostCall.iteration > this.#iteration) {
      this.#iteration = lostCall.iteration;
      this.#ready = this.#ready.then(whenLogged).then(() => this.#startOver());
    }
    await this.#ready;
    const request = ++this.#requestCount;
    this.#unansweredCount++;
    this.#file.append([{ request, calls: [lostCall] }]);
    this.#ready = this.#ready.then(() => this.#file.flush());
    await this.#ready;
    return {
      retried: (call) => this.#file.append([{ request, calls: [call] }]),
      answered: (calls) => {
        this.#unansweredCount--;
        this.#file.append([{ request, calls }]);
      },
    };
  }

  /** Removes the file, unless a request has no reply. */
  async close(): Promise<void> {
    await this.#ready.catch(() => undefined);
    if (this.#unansweredCount === 0) this.#startOver();
    else await this.#file.flush();
    this.#file.close();
  }

  #startOver(): void {
    this.#file.close();
    rmSync(this.#path, { force: true });
    this.#file = new JsonLinesFile(this.#path);
  }
}
