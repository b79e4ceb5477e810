/**
 * Calls in flight: requests are on disk before they are sent; answers are written when they arrive. The file contains
 * the calls of unfinished iterations. It is removed at the end if all of them are in `calls.jsonl`.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { JsonLinesFile, readJsonLines } from '../base/files/json-lines.js';
import type { ChatMessage, ModelErrorKind } from '../models/language-model.js';
import { largest } from '../statistics/descriptive.js';
import type { CallPosition, CallPurpose, CallRecord, EndedCall } from './calls.js';

/** A request that is about to be sent, for one or more answers. */
export interface AskedRequest {
  readonly iteration: number;
  readonly attempt: number;
  readonly candidates: readonly { readonly candidate: number; readonly seed: number }[];
  readonly messages: readonly ChatMessage[];
  readonly purpose: CallPurpose;
}

export interface SentRequest {
  /** Records that an attempt failed and will be retried; its answer may have been billed. */
  lost(error: ModelErrorKind): void;
  answered(calls: readonly EndedCall[]): void;
}

interface AskedLine extends AskedRequest {
  readonly kind: 'asked';
  readonly request: number;
  /** ISO 8601. */
  readonly time: string;
}

type Line =
  | AskedLine
  | { readonly kind: 'lost'; readonly request: number; readonly error: ModelErrorKind }
  | {
      readonly kind: 'answered';
      readonly request: number;
      readonly calls: readonly Omit<EndedCall, 'messages'>[];
    };

/** The calls of a process that ended before logging them. */
interface CallsLeft {
  /** Failed calls, and requests without an answer as aborted calls: they may have been billed. */
  readonly failed: readonly CallRecord[];
  /** Answers that weren't processed yet. */
  readonly arrived: readonly EndedCall[];
}

const fileName = 'underway.jsonl';

/** Distinguishes calls for the same position at different times. */
const callKey = ({ iteration, candidate, attempt, time }: CallPosition & { readonly time: string }) =>
  `${iteration}/${candidate}/${attempt}/${time}`;

/** @param calls the calls in the run's log @param repair if true, cuts a torn last line off the file */
export function readCallsLeft(
  path: string,
  calls: Iterable<CallRecord>,
  options: { readonly repair: boolean } = { repair: false },
): CallsLeft {
  const lines = readJsonLines<Line>(join(path, fileName), options) ?? [];
  if (lines.length === 0) return { failed: [], arrived: [] };
  const recorded = new Set<string>();
  for (const call of calls) recorded.add(callKey(call));
  const of = <K extends Line['kind']>(kind: K, request: number) =>
    lines.filter((line) => line.kind === kind && line.request === request) as Extract<Line, { kind: K }>[];
  const ended = lines.flatMap((line): readonly EndedCall[] => {
    if (line.kind !== 'asked') return [];
    const [answer] = of('answered', line.request);
    if (answer === undefined) {
      const tries = of('lost', line.request).map(({ error }) => error);
      return [withoutAnswer(line, tries)];
    }
    return answer.calls.map((call) => ({ ...call, messages: line.messages }));
  });
  const left = ended.filter((call) => !recorded.has(callKey(call)));
  return { failed: left.filter(isFailed), arrived: left.filter((call) => !isFailed(call)) };
}

const isFailed = (call: EndedCall): call is CallRecord => call.outcome !== undefined;

function withoutAnswer(
  { attempt, candidates, iteration, messages, purpose, time }: AskedLine,
  failedTries: readonly ModelErrorKind[],
): CallRecord {
  const { candidate, seed } = candidates[0]!;
  return {
    iteration,
    candidate,
    attempt,
    messages,
    seed,
    purpose,
    time,
    ...(candidates.length > 1 && { choices: candidates.length }),
    outcome: {
      kind: 'error',
      error: 'aborted',
      message: 'policyloop ended before the answer arrived',
      retries: failedTries.length,
      ...(failedTries.length > 0 && { failedTries }),
      latencyMs: 0,
    },
  };
}

/** Writes a run's calls in flight; nothing else may write to the file. */
export class CallsUnderway {
  readonly #path: string;
  #file: JsonLinesFile<Line>;
  #requests = 0;
  /** The file's lines by request. */
  readonly #lines = new Map<number, Line[]>();
  #iteration = 0;
  /** Requests without an answer, and keys of answers not logged yet. */
  readonly #open = new Set<number | string>();
  #ready: Promise<unknown> = Promise.resolve();

  /** @param arrived answers left in the file by an earlier process */
  constructor(directory: string, arrived: readonly EndedCall[] = []) {
    this.#path = join(directory, fileName);
    this.#file = new JsonLinesFile(this.#path);
    const lines = readJsonLines<Line>(this.#path, { repair: true }) ?? [];
    const asked = lines.filter((line) => line.kind === 'asked');
    this.#iteration = largest([0, ...asked.map(({ iteration }) => iteration)]);
    this.#requests = asked.at(-1)?.request ?? 0;
    for (const line of lines) {
      this.#lines.set(line.request, [...(this.#lines.get(line.request) ?? []), line]);
    }
    for (const call of arrived) this.#open.add(callKey(call));
  }

  /**
   * Writes a request to disk before it is sent.
   * @param recorded returns a promise that resolves once the calls of earlier iterations are on disk
   */
  async ask(asked: AskedRequest, now: Date, recorded: () => Promise<unknown>): Promise<SentRequest> {
    if (asked.iteration > this.#iteration) {
      this.#iteration = asked.iteration;
      this.#ready = this.#ready.then(recorded).then(() => this.#letGo());
    }
    await this.#ready;
    const request = ++this.#requests;
    this.#append(request, { kind: 'asked', request, ...asked, time: now.toISOString() });
    this.#open.add(request);
    this.#ready = this.#ready.then(() => this.#file.flush());
    await this.#ready;
    return {
      lost: (error) => this.#append(request, { kind: 'lost', request, error }),
      answered: (calls) => {
        const kept = calls.map(({ messages: _, ...call }) => call);
        this.#append(request, { kind: 'answered', request, calls: kept });
        this.#open.delete(request);
        for (const call of calls) this.#open.add(callKey(call));
      },
    };
  }

  recorded(call: CallRecord): void {
    this.#open.delete(callKey(call));
  }

  /** Closes the file, and deletes it unless it contains calls that aren't in the log. */
  async close(): Promise<void> {
    await this.#ready.catch(() => undefined);
    await this.#file.flush();
    this.#file.close();
    if (this.#open.size === 0) rmSync(this.#path, { force: true });
  }

  #append(request: number, line: Line): void {
    this.#file.append([line]);
    this.#lines.set(request, [...(this.#lines.get(request) ?? []), line]);
  }

  /** Rewrites the file, keeping only calls that aren't logged yet: other iterations may still be in flight. */
  #letGo(): void {
    for (const [request, lines] of this.#lines) {
      const calls = lines.flatMap((line) => (line.kind === 'answered' ? line.calls : []));
      const isOpen = this.#open.has(request) || calls.some((call) => this.#open.has(callKey(call)));
      if (!isOpen) this.#lines.delete(request);
    }
    this.#file.close();
    rmSync(this.#path, { force: true });
    this.#file = new JsonLinesFile(this.#path);
    this.#file.append([...this.#lines.values()].flat());
  }
}
