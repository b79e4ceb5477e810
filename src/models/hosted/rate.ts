/** Limits the request rate of one process: each request waits for its turn. */

import { abortable } from '../../base/abortable.js';
import type { RequestRate, Turn } from '../language-model.js';
import { waitOnClock } from './retry.js';

const minuteMs = 60_000;

/** Shorter waits aren't reported. */
const reportedWaitMs = 1000;

/** Allows at most `perMinute` requests in any minute, in the order in which they asked for a turn. */
export class MinuteWindow implements RequestRate {
  readonly #perMinute: number;
  /** Times of the last `perMinute` requests. */
  readonly #times: number[] = [];
  #last: Promise<void> = Promise.resolve();
  /** Maximum number of requests within `#windowMs`. */
  #most: number;
  #windowMs: number = minuteMs;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
    this.#most = perMinute;
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
    signal?.throwIfAborted();
    const now = performance.now();
    const earliest = (this.#times.at(-this.#most) ?? -Infinity) + this.#windowMs;
    const waitMs = earliest - now;
    if (waitMs >= reportedWaitMs) onWait?.(waitMs);
    if (waitMs > 0) await waitOnClock(waitMs, signal);
    this.#times.push(Math.max(now, earliest));
    if (this.#times.length > this.#perMinute) this.#times.shift();
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
