/**
 * Retries failed requests. The client libraries' retries aren't enough: openai's can't be interrupted while waiting,
 * and don't check whether the budget allows another attempt; ollama has none.
 */

import { setTimeout } from 'node:timers/promises';
import { redact } from '../../base/errors.js';
import { createGenerator } from '../../base/random/generator.js';
import { formatDuration } from '../../base/text/numbers.js';
import { type AttemptHooks, isTemporary, ModelError, type ModelErrorKind } from '../language-model.js';

export type Wait = (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;

export const waitOnClock: Wait = (milliseconds, signal) =>
  setTimeout(milliseconds, undefined, signal && { signal });

/** An attempt that produced no completion. */
export class AttemptError extends Error {
  override readonly name = 'AttemptError';

  /**
   * @param retryAfter milliseconds that the server asks to wait
   * @param isAvoided true if the next request avoids this failure, so it can be sent at once
   */
  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    readonly retryAfter?: number,
    readonly isAvoided = false,
  ) {
    super(message);
  }
}

export interface RetriedCall<T> {
  /** Sends one request; ends if `signal` aborts. @throws AttemptError */
  readonly attempt: (signal: AbortSignal) => Promise<T>;
  readonly retryPolicy: {
    /** Deadline of a call, including retries and the waits between them. */
    readonly timeoutSeconds: number;
    readonly maxRetries: number;
    /** The longest wait that a server's Retry-After may impose. */
    readonly maxRetryAfterSeconds: number;
    readonly requestsPerMinute?: number | undefined;
  };
  readonly wait: Wait;
  /** Provider and model; calls with the same id share `requestsPerMinute`. */
  readonly id: string;
  /** Strings that messages must not show. */
  readonly secrets: readonly string[];
  /** `isReached` becomes true when a request first gets a response or loses its connection; shared by all calls. */
  readonly server?: { isReached: boolean };
  /** Sampling seed of the call, used to spread the waits of concurrent calls. */
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
  readonly attempts?: AttemptHooks | undefined;
}

/** Until a server is reached, a network failure is retried at most once, and only this soon after the call's start. */
const maxFirstTryMs = 3000;

/** Maximum duration of a timer, about 25 days. */
const maxTimerMs = 2 ** 31 - 1;

/** Earliest start of the next rate-limited request, by provider and model; shared by all runs of the process. */
const nextStart = new Map<string, number>();

/** Waits until a request may start; `requestsPerMinute` spaces requests evenly. */
async function waitForTurn<T>(
  { attempts, id, retryPolicy, wait }: RetriedCall<T>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (retryPolicy.requestsPerMinute === undefined) return;
  const now = performance.now();
  const start = Math.max(now, nextStart.get(id) ?? now);
  nextStart.set(id, start + 60_000 / retryPolicy.requestsPerMinute);
  if (start - now >= 1000) attempts?.onWait?.(start - now);
  if (start > now) await wait(start - now, signal);
}

/**
 * Retries until success, a permanent failure, the last retry, the deadline, an abort, a limit of the run or an overlong
 * Retry-After. `attemptInfo` contains the fields of a completion that describe the attempts. @throws ModelError
 */
export async function callWithRetries<T>(call: RetriedCall<T>) {
  const { attempts = {}, id, retryPolicy, secrets, seed, server, signal } = call;
  const timeoutMs = 1000 * retryPolicy.timeoutSeconds;
  let startMs = performance.now();
  let endSignal = signal;
  const failures: AttemptError[] = [];
  /** Number of requests after the first. */
  let retries = 0;

  const modelError = (kind: ModelErrorKind, message: string) =>
    new ModelError(kind, redact(`${id}: ${message}`, secrets), {
      retries,
      latencyMs: performance.now() - startMs,
      failedTries: failures.map((failure) => failure.kind),
    });

  /** Returns why there is no further attempt, as an addition to the message; undefined if there is one. */
  const noRetryReason = (kind: ModelErrorKind, retryCount: number, waitMs: number): string | undefined => {
    if (!isTemporary(kind)) return '';
    const spentMs = performance.now() - startMs;
    // Probably the server isn't running or the address is wrong, so fail early.
    const isUnreachable = kind === 'network' && server?.isReached === false;
    const maxTries = isUnreachable ? (spentMs > maxFirstTryMs ? 0 : 1) : retryPolicy.maxRetries;
    if (retryCount >= Math.min(maxTries, retryPolicy.maxRetries))
      return retryCount === 0 ? '' : ` (after ${retryCount} ${retryCount === 1 ? 'retry' : 'retries'})`;
    if (attempts.mayTryAgain?.(kind) === false) return ' (the limits of the run allow no further attempt)';
    if (spentMs + waitMs < timeoutMs) return undefined;
    return ` (the next attempt would start after the deadline of ${retryPolicy.timeoutSeconds} s)`;
  };

  /** Waits before a retry. @throws ModelError if there is no retry */
  const backOff = async (failure: AttemptError) => {
    const { kind, message, retryAfter } = failure;
    attempts.onFault?.(kind, redact(message, secrets));
    const retryCount = failures.filter(({ isAvoided }) => !isAvoided).length;
    // By default, waits double, from a higher start for rate limits. Up to a quarter is subtracted at random.
    const [firstMs, longestMs] = kind === 'rate-limit' ? [4000, 32_000] : [500, 8000];
    const jitter = createGenerator(seed, [retryCount]).uniform(0.75, 1);
    const waitMs = retryAfter ?? Math.min(firstMs * 2 ** retryCount, longestMs) * jitter;
    const maxSeconds = retryPolicy.maxRetryAfterSeconds;
    if (isTemporary(kind) && retryAfter !== undefined && waitMs > maxSeconds * 1000)
      throw modelError(
        'quota',
        `${message}; the server asks to wait for ${formatDuration(waitMs)}, longer than model.maxRetryAfterSeconds (${maxSeconds}) allows. Continue later with \`policyloop resume <run>\``,
      );
    const reason = noRetryReason(kind, retryCount, waitMs);
    if (reason !== undefined) throw modelError(kind, message + reason);
    failures.push(failure);
    if (waitMs >= 1000 && (retryAfter !== undefined || kind === 'rate-limit')) attempts.onWait?.(waitMs);
    await call.wait(waitMs, endSignal);
  };

  try {
    await waitForTurn(call, signal);
    startMs = performance.now();
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, maxTimerMs));
    endSignal = AbortSignal.any([deadline, ...(signal ? [signal] : [])]);
    for (; ; retries++) {
      endSignal.throwIfAborted();
      const result = await call.attempt(endSignal).then((value) => ({ value }), asAttemptError);
      const isFailure = result instanceof AttemptError;
      if (server !== undefined && !(isFailure && result.kind === 'network')) server.isReached = true;
      if (!isFailure) {
        const failedTries = failures.map((failure) => failure.kind);
        const attemptInfo = { latencyMs: performance.now() - startMs, retries };
        return { value: result.value, attemptInfo: { ...attemptInfo, ...(retries > 0 && { failedTries }) } };
      }
      endSignal.throwIfAborted();
      if (result.isAvoided) failures.push(result);
      else await backOff(result);
      await waitForTurn(call, endSignal);
    }
  } catch (error) {
    if (error instanceof ModelError || !endSignal?.aborted) throw error;
    if (signal?.aborted) throw modelError('aborted', 'the call was aborted');
    const reason = `no reply within ${retryPolicy.timeoutSeconds} s (model.timeoutSeconds)`;
    const last = failures.at(-1);
    throw modelError('timeout', last === undefined ? reason : `${reason}; before that: ${last.message}`);
  }
}

function asAttemptError(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  throw error;
}
