/**
 * Calls under way: a request is on disk before it is sent, and its answers as soon as they arrive. The file holds those of
 * the iterations under way, and is gone once all their calls stand in `calls.jsonl`.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatMessage, ModelErrorKind } from '../models/language-model.js';
import { largest } from '../statistics/descriptive.js';
import { JsonLinesFile, readJsonLines } from '../storage/json-lines.js';
import type { CallPosition, CallPurpose, CallRecord, EndedCall } from './calls.js';

/** A request for one answer or several, that is about to be sent. */
export interface AskedRequest {
  readonly iteration: number;
  readonly attempt: number;
  /** Each with the seed of its call. */
  readonly candidates: readonly { readonly candidate: number; readonly seed: number }[];
  readonly messages: readonly ChatMessage[];
  /** See CallRecord. */
  readonly purpose?: CallPurpose;
}

/** A request that was sent. */
export interface SentRequest {
  /** A try failed and is made again; its answer may have been paid for. */
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

/** What a process left behind that ended before its calls stood in the log. */
interface CallsLeft {
  /** Failed calls, and requests without an answer as aborted calls: they may have been paid for. */
  readonly failed: readonly CallRecord[];
  /** Answers that nothing was made of yet. */
  readonly arrived: readonly EndedCall[];
}

const fileName = 'underway.jsonl';

/** Tells a call from those that were made for the same position before and after it. */
export const callKey = ({ iteration, candidate, attempt, time }: CallPosition & { readonly time: string }) =>
  `${iteration}/${candidate}/${attempt}/${time}`;

/**
 * @param calls those in the log of the run at `path`
 * @param repair whether a torn last line is cut off the file
 */
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
    ...{ iteration, candidate, attempt, messages, seed, time },
    ...(purpose !== undefined && { purpose }),
    ...(candidates.length > 1 && { choices: candidates.length }),
    outcome: {
      kind: 'error',
      error: 'aborted',
      message: 'the program ended before the answer arrived',
      retries: failedTries.length,
      ...(failedTries.length > 0 && { failedTries }),
      latencyMs: 0,
    },
  };
}

/** The one writer of a run's calls under way. */
export class CallsUnderway {
  readonly #path: string;
  #file: JsonLinesFile<Line>;
  #requests = 0;
  /** The lines of each request that the file holds. */
  readonly #lines = new Map<number, Line[]>();
  #iteration = 0;
  /** Requests without an answer, and keys of answers that are not in the log of calls yet. */
  readonly #open = new Set<number | string>();
  #ready: Promise<unknown> = Promise.resolve();

  /** @param arrived answers that an earlier process left in the file */
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
   * Notes a request, on disk for good, before it is sent.
   * @param recorded resolves when the calls of earlier iterations are on disk for good
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

  /** A call stands in the log now. */
  recorded(call: CallRecord): void {
    this.#open.delete(callKey(call));
  }

  /** Keeps the file where it holds what the log does not. */
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

  /** Begins the file anew, with what is not in the log of calls yet: requests of other iterations may be under way. */
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
