/** All retries happen here: client libraries obey any Retry-After, and some can't be interrupted while they wait. */

import { setTimeout as delay } from 'node:timers/promises';
import { onAbort } from '../../base/abortable.js';
import { redact } from '../../base/errors.js';
import { formatDuration } from '../../format/numbers.js';
import { createGenerator } from '../../random/generator.js';
import { type Attempts, ModelError, type ModelErrorKind, type RequestRate } from '../language-model.js';

export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export const waitOnClock: Wait = async (milliseconds, signal) => {
  await delay(milliseconds, undefined, { signal });
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

  constructor(kind: ModelErrorKind, message: string, retryAfter?: RetryAfter) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

export interface Call<T> {
  /** Makes one attempt; ends if `signal` aborts, and awaits `turn()` before any further request. @throws TryFailure */
  readonly attempt: (signal: AbortSignal, turn: () => Promise<void>) => Promise<T>;
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

const temporary = new Set<ModelErrorKind>([
  'rate-limit',
  'server',
  'network',
  'cut',
  'html',
  'malformed',
  'empty',
]);

/** If a server has never replied, a network failure is retried once, and only if it came sooner than this. */
const longestFirstTryMs = 3000;

/** Maximum duration of a timer, about 25 days. */
const longestTimerMs = 2 ** 31 - 1;

/** Retries until success, a permanent failure, the last retry or the deadline. @throws ModelError */
export async function callWithRetries<T>(call: Call<T>): Promise<Outcome<T>> {
  const tries = new Tries(call);
  const endWait = onAbort(call.signal, () => tries.abort());
  try {
    return await tries.run();
  } finally {
    tries.stopClock();
    endWait();
  }
}

/** The attempts of one call, until the deadline passes or the caller aborts. */
class Tries<T> {
  readonly #call: Call<T>;
  readonly #controller = new AbortController();
  readonly #end = this.#controller.signal;
  readonly #failures: TryFailure[] = [];
  #retries = 0;
  /** Time spent until the clock last stopped. */
  #spentMs = 0;
  /** When the clock last started; undefined while it's stopped. */
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(call: Call<T>) {
    this.#call = call;
    this.#startClock();
  }

  abort(): void {
    this.#controller.abort('aborted');
  }

  stopClock(): void {
    this.#spentMs = this.#elapsedMs;
    this.#since = undefined;
    clearTimeout(this.#timer);
  }

  #startClock(): void {
    const leftMs = Math.min(1000 * this.#call.policy.timeoutSeconds, longestTimerMs) - this.#spentMs;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.#controller.abort('timeout'), Math.max(0, leftMs));
  }

  async run(): Promise<Outcome<T>> {
    if (!this.#call.attempts?.hasTurn) await this.#unlessEnded(() => this.#turn());
    for (; ; this.#retries++) {
      const tried = await this.#unlessEnded(() => this.#try());
      if (!(tried instanceof TryFailure)) return tried;
      this.#failures.push(tried);
      this.#call.attempts?.onFault?.(tried.kind, redact(tried.message, this.#call.secrets));
      const waitMs = backOff(tried, this.#retries, this.#call);
      const { maxRetryAfterSeconds: most } = this.#call.policy;
      if (temporary.has(tried.kind) && tried.retryAfter !== undefined && waitMs > most * 1000)
        throw this.#error('quota', `${tried.message}; ${whenToResume(tried.retryAfter, most)}`);
      const obstacle = await this.#obstacle(tried.kind, waitMs);
      if (obstacle !== undefined) throw this.#error(tried.kind, tried.message + obstacle);
      if (tried.retryAfter !== undefined && waitMs >= 1000) this.#call.attempts?.onWait?.(waitMs);
      await this.#unlessEnded(() => this.#call.wait(waitMs, this.#end));
      await this.#unlessEnded(() => this.#turn(tried));
    }
  }

  /** Waits for a turn. @throws the previous failure if no further attempt is wanted */
  async #turn(failed?: TryFailure): Promise<void> {
    const { attempts = {}, rate } = this.#call;
    if (rate === undefined) return;
    const { finish, onWait } = attempts;
    const signal = failed && finish ? AbortSignal.any([this.#end, finish]) : this.#end;
    this.stopClock();
    try {
      await rate.turn({ signal, onWait });
    } catch (error) {
      if (failed === undefined || this.#end.aborted || !signal.aborted) throw error;
      throw this.#error(failed.kind, `${failed.message} (stopped while waiting to try again)`);
    } finally {
      this.#startClock();
    }
  }

  async #try(): Promise<Outcome<T> | TryFailure> {
    const retries = this.#retries;
    try {
      const value = await this.#call.attempt(this.#end, () => this.#turn());
      this.#reach();
      return { value, retries, failedTries: this.#failedTries, latencyMs: this.#elapsedMs };
    } catch (error) {
      if (error instanceof TryFailure && error.kind !== 'network') this.#reach();
      if (error instanceof TryFailure && !this.#end.aborted) return error;
      throw error;
    }
  }

  #reach(): void {
    if (this.#call.server !== undefined) this.#call.server.isReached = true;
  }

  async #unlessEnded<R>(act: () => Promise<R>): Promise<R> {
    if (this.#end.aborted) throw this.#ended();
    try {
      return await act();
    } catch (error) {
      throw this.#end.aborted ? this.#ended() : error;
    }
  }

  /** Why there will be no further attempt, to append to the message; undefined if there will be one. */
  async #obstacle(kind: ModelErrorKind, waitMs: number): Promise<string | undefined> {
    const { attempts, policy } = this.#call;
    const retries = this.#retries;
    if (!temporary.has(kind)) return '';
    // Probably the server isn't running or the address is wrong, so fail early.
    const isNobody = kind === 'network' && this.#call.server?.isReached === false;
    const most = isNobody ? (this.#elapsedMs > longestFirstTryMs ? 0 : 1) : policy.maxRetries;
    if (retries >= Math.min(most, policy.maxRetries))
      return retries === 0 ? '' : ` (after ${retries} ${retries === 1 ? 'retry' : 'retries'})`;
    if (attempts?.mayTryAgain?.(kind) === false) return ' (the limits of the run allow no further attempt)';
    if (this.#elapsedMs + waitMs < policy.timeoutSeconds * 1000) return undefined;
    return ` (the next attempt would start after the deadline of ${policy.timeoutSeconds} s)`;
  }

  #ended(): ModelError {
    if (this.#end.reason === 'aborted') return this.#error('aborted', 'the call was aborted');
    const limit = `no answer within ${this.#call.policy.timeoutSeconds} s (model.timeoutSeconds)`;
    const last = this.#failures.at(-1);
    return this.#error('timeout', last === undefined ? limit : `${limit}; before that: ${last.message}`);
  }

  #error(kind: ModelErrorKind, message: string): ModelError {
    // The last failure is the error itself, except after a timeout or an abort.
    const before = kind === 'timeout' || kind === 'aborted' ? undefined : this.#retries;
    return new ModelError(kind, redact(`${this.#call.id}: ${message}`, this.#call.secrets), {
      retries: this.#retries,
      latencyMs: this.#elapsedMs,
      failedTries: this.#failedTries.slice(0, before),
    });
  }

  get #failedTries(): readonly ModelErrorKind[] {
    return this.#failures.map(({ kind }) => kind);
  }

  get #elapsedMs(): number {
    return this.#spentMs + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }
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

/** Milliseconds to wait: as the server asks, otherwise 0.5 s doubling to 8 s, less up to a quarter at random. */
function backOff(failure: TryFailure, retries: number, call: Call<unknown>): number {
  if (failure.retryAfter !== undefined) return failure.retryAfter.afterMs;
  const spread = createGenerator(call.seed, [retries]).uniform(0.75, 1);
  return Math.min(500 * 2 ** retries, 8000) * spread;
}
