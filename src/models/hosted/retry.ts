/**
 * Retries. The libraries' own don't do: openai's can't be interrupted while they wait, and ask nobody whether the budget
 * allows another attempt; ollama has none.
 */

import { abortable, onAbort } from '../../base/abortable.js';
import { redact } from '../../base/errors.js';
import { createGenerator } from '../../base/random/generator.js';
import { formatDuration } from '../../base/text/numbers.js';
import {
  type Attempts,
  isTemporary,
  ModelError,
  type ModelErrorKind,
  type RequestRate,
} from '../language-model.js';

export type Wait = (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;

export const waitOnClock: Wait = (milliseconds, signal) => {
  let timer: NodeJS.Timeout;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(waited, signal).finally(() => clearTimeout(timer));
};

interface RetryAfter {
  readonly afterMs: number;
  /** The server's time, in milliseconds since 1970; NaN if unknown. */
  readonly sentAt: number;
}

/** An attempt that produced no completion. */
export class TryFailure extends Error {
  override readonly name = 'TryFailure';
  readonly kind: ModelErrorKind;
  readonly retryAfter: RetryAfter | undefined;
  /** Whether the next request avoids this failure, so that it can be sent at once. */
  readonly isAvoided: boolean;

  constructor(
    kind: ModelErrorKind,
    message: string,
    { isAvoided = false, retryAfter }: { isAvoided?: boolean; retryAfter?: RetryAfter | undefined } = {},
  ) {
    super(message);
    this.kind = kind;
    this.isAvoided = isAvoided;
    this.retryAfter = retryAfter;
  }
}

export interface Call<T> {
  /** Sends one request; ends if `signal` aborts. @throws TryFailure */
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  readonly policy: {
    /** Deadline of a call, including retries and the waits between them, but not waits for a turn. */
    readonly timeoutSeconds: number;
    readonly maxRetries: number;
    /** The longest wait that a server's Retry-After may impose. */
    readonly maxRetryAfterSeconds: number;
  };
  readonly wait: Wait;
  readonly id: string;
  /** Strings that messages must not show. */
  readonly secrets: readonly string[];
  /** Whether the server has ever replied, even with an error; shared by all calls. */
  readonly server?: { isReached: boolean };
  /** Sampling seed of the call, used to spread the waits of concurrent calls. */
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
  /** Limits when requests may be sent; default: at any time. */
  readonly rate?: RequestRate | undefined;
  readonly attempts?: Attempts | undefined;
}

export interface Outcome<T> {
  readonly value: T;
  readonly retries: number;
  /** Kinds of the failed attempts, in order. */
  readonly failedTries: readonly ModelErrorKind[];
  readonly latencyMs: number;
}

/** If a server has never replied, a network failure is retried once, and only if it came sooner than this. */
const longestFirstTryMs = 3000;

/** Maximum duration of a timer, about 25 days. */
const longestTimerMs = 2 ** 31 - 1;

/** Retries until success, a permanent failure, the last retry or the deadline. @throws ModelError */
export async function callWithRetries<T>(call: Call<T>): Promise<Outcome<T>> {
  const { attempts = {}, policy, rate, signal } = call;
  const timeoutMs = 1000 * policy.timeoutSeconds;
  const failures: TryFailure[] = [];
  /** Number of requests after the first. */
  let repeats = 0;
  /** Time spent, except on waits for a turn. */
  let spentMs = 0;

  const ended = (kind: ModelErrorKind, message: string) => {
    // The last failure is the error itself, except after a timeout or an abort.
    const before = kind === 'timeout' || kind === 'aborted' ? failures : failures.slice(0, repeats);
    return new ModelError(kind, redact(`${call.id}: ${message}`, call.secrets), {
      retries: repeats,
      latencyMs: spentMs,
      failedTries: before.map((failure) => failure.kind),
    });
  };

  /** Acts until the deadline or an abort. */
  const timed = async <R>(act: (signal: AbortSignal) => Promise<R>): Promise<R> => {
    if (signal?.aborted) throw ended('aborted', 'the call was aborted');
    const controller = new AbortController();
    const end = () => controller.abort();
    const timer = setTimeout(end, Math.min(Math.max(0, timeoutMs - spentMs), longestTimerMs));
    const stopListening = onAbort(signal, end);
    const started = performance.now();
    const stopClock = () => {
      clearTimeout(timer);
      stopListening();
      spentMs += performance.now() - started;
    };
    try {
      return await act(controller.signal).finally(stopClock);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
      if (signal?.aborted) throw ended('aborted', 'the call was aborted');
      const limit = `no answer within ${policy.timeoutSeconds} s (model.timeoutSeconds)`;
      const last = failures.at(-1);
      throw ended('timeout', last === undefined ? limit : `${limit}; before that: ${last.message}`);
    }
  };

  /** Waits for a turn. @throws the last failure if no further attempt is wanted */
  const takeTurn = async () => {
    const [failed, finish] = [failures.at(-1), attempts.finish];
    try {
      const stops = [signal, failed && finish].filter((stop) => stop !== undefined);
      await rate?.turn({ signal: AbortSignal.any(stops), onWait: attempts.onWait });
    } catch (error) {
      if (signal?.aborted) throw ended('aborted', 'the call was aborted');
      if (failed === undefined || !finish?.aborted) throw error;
      throw ended(failed.kind, `${failed.message} (stopped while waiting to try again)`);
    }
  };

  /** Why there will be no further attempt, to append to the message; undefined if there will be one. */
  const obstacle = (kind: ModelErrorKind, retries: number, waitMs: number): string | undefined => {
    if (!isTemporary(kind)) return '';
    // Probably the server isn't running or the address is wrong, so fail early.
    const isNobody = kind === 'network' && call.server?.isReached === false;
    const most = isNobody ? (spentMs > longestFirstTryMs ? 0 : 1) : policy.maxRetries;
    if (retries >= Math.min(most, policy.maxRetries))
      return retries === 0 ? '' : ` (after ${retries} ${retries === 1 ? 'retry' : 'retries'})`;
    if (attempts.mayTryAgain?.(kind) === false) return ' (the limits of the run allow no further attempt)';
    if (spentMs + waitMs < timeoutMs) return undefined;
    return ` (the next attempt would start after the deadline of ${policy.timeoutSeconds} s)`;
  };

  /** Waits before a retry. @throws ModelError if there is none */
  const backOff = async ({ kind, message, retryAfter }: TryFailure) => {
    attempts.onFault?.(kind, redact(message, call.secrets));
    const retries = failures.filter(({ isAvoided }) => !isAvoided).length - 1;
    // Without a Retry-After: 0.5 s doubling to 8 s, less up to a quarter at random.
    const spread = createGenerator(call.seed, [retries]).uniform(0.75, 1);
    const waitMs = retryAfter?.afterMs ?? Math.min(500 * 2 ** retries, 8000) * spread;
    const most = policy.maxRetryAfterSeconds;
    if (isTemporary(kind) && retryAfter !== undefined && waitMs > most * 1000)
      throw ended('quota', `${message}; ${whenToResume(retryAfter, most)}`);
    const why = obstacle(kind, retries, waitMs);
    if (why !== undefined) throw ended(kind, message + why);
    if (retryAfter !== undefined && waitMs >= 1000) attempts.onWait?.(waitMs);
    await timed((end) => call.wait(waitMs, end));
  };

  if (!attempts.hasTurn) await takeTurn();
  for (; ; repeats++) {
    const tried = await timed(call.attempt).then((value) => ({ value }), failureIn);
    const isFailure = tried instanceof TryFailure;
    if (call.server !== undefined && !(isFailure && tried.kind === 'network')) call.server.isReached = true;
    if (!isFailure) {
      const failedTries = failures.map(({ kind }) => kind);
      return { value: tried.value, retries: repeats, failedTries, latencyMs: spentMs };
    }
    failures.push(tried);
    if (!tried.isAvoided) await backOff(tried);
    await takeTurn();
  }
}

function failureIn(error: unknown): TryFailure {
  if (error instanceof TryFailure) return error;
  throw error;
}

/** Says when to resume, in local time, if the server asks for too long a wait. */
function whenToResume({ afterMs, sentAt }: RetryAfter, mostSeconds: number): string {
  const end = new Date(sentAt + afterMs);
  const isDate = !Number.isNaN(end.getTime()) && end.getFullYear() < 9999;
  const local = isDate && new Date(end.getTime() - 60_000 * end.getTimezoneOffset()).toISOString();
  const at = local ? `after ${local.slice(0, 10)} ${local.slice(11, 16)}` : 'later';
  const wait = isDate ? `for ${formatDuration(afterMs)}` : 'for a very long time';
  return `the server asks to wait ${wait}, longer than model.maxRetryAfterSeconds (${mostSeconds}) allows. Continue ${at} with \`policyloop resume <run>\``;
}
