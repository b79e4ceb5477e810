/** Limits the request rate of one process: each request waits for its turn. */

import { abortable } from '../../base/abortable.js';
import type { RequestRate, Turn } from '../language-model.js';
import { type Wait, waitOnClock } from './retry.js';

/** A monotonic clock that can also wait. */
export interface RateClock {
  /** Milliseconds since an arbitrary moment; never decreases. */
  readonly now: () => number;
  readonly wait: Wait;
}

const processClock: RateClock = { now: () => performance.now(), wait: waitOnClock };

const minuteMs = 60_000;

/** Shorter waits aren't reported. */
const reportedWaitMs = 1000;

/** A signal that never aborts. */
const never: AbortSignal = new AbortController().signal;

/** Allows at most `perMinute` requests in any minute, in the order in which they asked for a turn. */
export class MinuteWindow implements RequestRate {
  readonly #perMinute: number;
  readonly #clock: RateClock;
  readonly #times: number[] = [];
  #last: Promise<void> = Promise.resolve();
  /** Maximum number of requests within `#windowMs`. */
  #most: number;
  #windowMs: number = minuteMs;

  constructor(perMinute: number, clock: RateClock = processClock) {
    this.#perMinute = perMinute;
    this.#most = perMinute;
    this.#clock = clock;
  }

  /** With less than one request per minute for each sender, the window becomes longer. */
  divide(senders: number): void {
    const each = this.#perMinute / senders;
    this.#most = Math.max(1, Math.floor(each));
    this.#windowMs = (this.#most * minuteMs) / each;
  }

  turn(turn: Turn): Promise<void> {
    const own = this.#last.then(() => this.#take(turn));
    this.#last = own.catch(() => undefined);
    return abortable(own, turn.signal);
  }

  async #take({ onWait, signal }: Turn): Promise<void> {
    for (let isReported = false; ; isReported = true) {
      signal?.throwIfAborted();
      const now = this.#clock.now();
      while (this.#times.length > 0 && this.#times[0]! <= now - this.#windowMs) this.#times.shift();
      if (this.#times.length < this.#most) {
        this.#times.push(now);
        return;
      }
      const leftMs = this.#times[0]! + this.#windowMs - now;
      if (!isReported && leftMs >= reportedWaitMs) onWait?.(leftMs);
      await this.#clock.wait(leftMs, signal ?? never);
    }
  }
}

/** The rates of this thread, by server, account and model; its runs share them. */
const rates = new Map<string, MinuteWindow>();

/** Enforces `model.requestsPerMinute`; undefined without it. @param server identifies the server, account and model */
export function openRate(
  perMinute: number | undefined,
  server: readonly (string | undefined)[],
): RequestRate | undefined {
  if (perMinute === undefined) return undefined;
  const key = JSON.stringify([perMinute, ...server]);
  const rate = rates.get(key) ?? new MinuteWindow(perMinute);
  rates.set(key, rate);
  return rate;
}
