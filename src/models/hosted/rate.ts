/** Limits the request rate of one process: each request waits for its turn. */

import { abortable } from '../../base/abortable.js';
import type { Turn } from '../language-model.js';
import type { Wait } from './retry.js';

/** A monotonic clock that can also wait. */
export interface RateClock {
  /** Milliseconds since an arbitrary moment; never decreases. */
  readonly now: () => number;
  readonly wait: Wait;
}

const minuteMs = 60_000;

/** Shorter waits aren't reported. */
export const reportedWaitMs = 1000;

/** A signal that never aborts. */
export const never: AbortSignal = new AbortController().signal;

/** Allows at most `perMinute` requests in any minute, in the order in which they asked for a turn. */
export class MinuteWindow {
  readonly #perMinute: number;
  readonly #clock: RateClock;
  readonly #times: number[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(perMinute: number, clock: RateClock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
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
      while (this.#times.length > 0 && this.#times[0]! <= now - minuteMs) this.#times.shift();
      if (this.#times.length < this.#perMinute) {
        this.#times.push(now);
        return;
      }
      const leftMs = this.#times[0]! + minuteMs - now;
      if (!isReported && leftMs >= reportedWaitMs) onWait?.(leftMs);
      await this.#clock.wait(leftMs, signal ?? never);
    }
  }
}
