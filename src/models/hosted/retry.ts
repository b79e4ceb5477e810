/**
 * The one place where calls are tried again. The client libraries' own retries are off: they obey a server's
 * Retry-After without a limit, and some can't be interrupted while they wait.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { redact } from '../../errors.js';
import { createGenerator } from '../../random/generator.js';
import { ModelError, type ModelErrorKind } from '../language-model.js';

/** Waits; rejects as soon as the signal is aborted. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export const waitOnClock: Wait = async (milliseconds, signal) => {
  await delay(milliseconds, undefined, { signal });
};

export interface RetryPolicy {
  /** Deadline of a call, its retries and the waits between them included. */
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
  /** The longest wait that a server's Retry-After may impose. */
  readonly maxRetryAfterSeconds: number;
}

/** One try that gave no completion. */
export class TryFailure extends Error {
  override readonly name = 'TryFailure';
  readonly kind: ModelErrorKind;
  /** What the server asked for by Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: ModelErrorKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Call<T> {
  /** Makes one try and must end as soon as the signal is aborted. Throws TryFailure. */
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  readonly policy: RetryPolicy;
  readonly wait: Wait;
  /** Of the model, for messages. */
  readonly id: string;
  /** Never to be seen in a message. */
  readonly secrets: readonly string[];
  /** Sampling seed of the call; spreads the waits of concurrent calls. */
  readonly seed: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** Whether the caller can afford another try after one that failed so; without it always. */
  readonly mayTryAgain?: ((kind: ModelErrorKind) => boolean) | undefined;
}

export interface Outcome<T> {
  readonly value: T;
  /** Tries beyond the first. */
  readonly retries: number;
  /** What went wrong with the tries before, in order. */
  readonly failedTries: readonly ModelErrorKind[];
  readonly latencyMs: number;
}

const temporary: readonly ModelErrorKind[] = [
  'rate-limit',
  'server',
  'network',
  'cut',
  'html',
  'malformed',
  'empty',
];

/** Timers take no more: about 25 days. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Tries until one succeeds, the failure is not a temporary one, the retries are used up, or the deadline is reached.
 * @throws ModelError; whatever else `attempt` throws passes through.
 */
export async function callWithRetries<T>(call: Call<T>): Promise<Outcome<T>> {
  const { policy } = call;
  const started = performance.now();
  const timeoutMs = policy.timeoutSeconds * 1000;
  const end = new AbortController();
  const onAbort = () => end.abort('aborted');
  const deadline = setTimeout(() => end.abort('timeout'), Math.min(timeoutMs, longestTimerMs));
  call.signal?.addEventListener('abort', onAbort, { once: true });
  if (call.signal?.aborted) onAbort();

  const failedTries: ModelErrorKind[] = [];
  let retries = 0;
  let last: TryFailure | undefined;
  const elapsedMs = () => performance.now() - started;
  const fail = (kind: ModelErrorKind, message: string) =>
    new ModelError(kind, redact(`${call.id}: ${message}`, call.secrets), {
      retries,
      latencyMs: elapsedMs(),
      // What ended the call is its own kind, but for what came between the last try and the end.
      failedTries: failedTries.slice(0, kind === 'timeout' || kind === 'aborted' ? undefined : retries),
    });
  const ended = () =>
    end.signal.reason === 'aborted'
      ? fail('aborted', 'the call was aborted')
      : fail(
          'timeout',
          `no answer within ${policy.timeoutSeconds} s (model.timeoutSeconds)${last === undefined ? '' : `; before that: ${last.message}`}`,
        );

  try {
    for (; ; retries++) {
      if (end.signal.aborted) throw ended();
      try {
        return { value: await call.attempt(end.signal), retries, failedTries, latencyMs: elapsedMs() };
      } catch (error) {
        if (end.signal.aborted) throw ended();
        if (!(error instanceof TryFailure)) throw error;
        last = error;
        failedTries.push(error.kind);
      }
      if (!temporary.includes(last.kind)) throw fail(last.kind, last.message);
      if (retries >= policy.maxRetries) {
        throw fail(last.kind, `${last.message}${retries === 0 ? '' : ` (after ${retries} retries)`}`);
      }
      if (call.mayTryAgain?.(last.kind) === false) {
        throw fail(last.kind, `${last.message} (a limit has no room for another try)`);
      }
      const waitMs = backOff(last, retries, call);
      if (elapsedMs() + waitMs >= timeoutMs) {
        throw fail(
          last.kind,
          `${last.message} (the next try would come after the deadline of ${policy.timeoutSeconds} s)`,
        );
      }
      try {
        await call.wait(waitMs, end.signal);
      } catch (error) {
        if (end.signal.aborted) throw ended();
        throw error;
      }
    }
  } finally {
    clearTimeout(deadline);
    call.signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Milliseconds before the next try: what the server asked for, up to the cap; else half a second, doubling up to
 * eight, less up to a quarter drawn from the call's seed, so that concurrent calls don't come back all at once.
 */
function backOff(failure: TryFailure, retries: number, call: Call<unknown>): number {
  if (failure.retryAfterMs !== undefined) {
    return Math.min(failure.retryAfterMs, call.policy.maxRetryAfterSeconds * 1000);
  }
  const spread = createGenerator(call.seed, [retries]).uniform(0.75, 1);
  return Math.min(500 * 2 ** retries, 8000) * spread;
}
