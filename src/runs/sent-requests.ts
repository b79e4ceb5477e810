/**
 * Requests are on disk before they are sent, so that no crash hides a paid call. For each request, the file has the
 * calls that it counts as: first one without an answer, then those of its answers. They are also in `calls.jsonl` once
 * the run has judged them.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { JsonLinesFile, readJsonLines } from '../base/files/json-lines.js';
import type { CallRecord } from './calls.js';

interface Line {
  readonly request: number;
  readonly calls: readonly CallRecord[];
}

export interface SentRequest {
  /** Replaces what the request counts as until its answer arrives, as an attempt that may have been billed failed. */
  retried(lost: CallRecord): void;
  answered(calls: readonly CallRecord[]): void;
}

const fileName = 'underway.jsonl';

/** Distinguishes calls for the same position at different times. */
const callKey = ({ attempt, candidate, iteration, time }: CallRecord) =>
  `${iteration}/${candidate}/${attempt}/${time}`;

/** The calls of a process that ended before logging them. */
export function callsLeft(path: string, logged: Iterable<CallRecord>): readonly CallRecord[] {
  const lines = readJsonLines<Line>(join(path, fileName), { repair: false }) ?? [];
  if (lines.length === 0) return [];
  const known = new Set<string>();
  for (const call of logged) known.add(callKey(call));
  const last = new Map(lines.map(({ calls, request }) => [request, calls]));
  return [...last.values()].flat().filter((call) => !known.has(callKey(call)));
}

/** Writes a run's requests; nothing else may write to the file. */
export class SentRequests {
  readonly #path: string;
  #file: JsonLinesFile<Line>;
  #iteration = 0;
  #requests = 0;
  #unanswered = 0;
  #ready: Promise<unknown> = Promise.resolve();

  /** The calls that an earlier process left in the file must have been logged. */
  constructor(directory: string) {
    this.#path = join(directory, fileName);
    this.#file = new JsonLinesFile(this.#path);
  }

  /**
   * @param lost what the request counts as until its answer arrives
   * @param logged returns a promise that resolves once the calls of earlier iterations are on disk
   */
  async send(lost: CallRecord, logged: () => Promise<unknown>): Promise<SentRequest> {
    if (lost.iteration > this.#iteration) {
      this.#iteration = lost.iteration;
      this.#ready = this.#ready.then(logged).then(() => this.#startOver());
    }
    await this.#ready;
    const request = ++this.#requests;
    this.#unanswered++;
    this.#file.append([{ request, calls: [lost] }]);
    this.#ready = this.#ready.then(() => this.#file.flush());
    await this.#ready;
    return {
      retried: (call) => this.#file.append([{ request, calls: [call] }]),
      answered: (calls) => {
        this.#unanswered--;
        this.#file.append([{ request, calls }]);
      },
    };
  }

  /** Removes the file, unless a request has no answer. */
  async close(): Promise<void> {
    await this.#ready.catch(() => undefined);
    if (this.#unanswered === 0) this.#startOver();
    else await this.#file.flush();
    this.#file.close();
  }

  #startOver(): void {
    this.#file.close();
    rmSync(this.#path, { force: true });
    this.#file = new JsonLinesFile(this.#path);
  }
}
