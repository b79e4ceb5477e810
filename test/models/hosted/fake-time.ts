/** Time that passes only while everybody waits: nobody waits for real. */
import { onAbort } from '../../../src/base/abortable.js';
import type { RateClock } from '../../../src/models/hosted/rate.js';

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

export class FakeTime {
  /** Milliseconds since 1970. */
  now = Date.UTC(2026, 0, 1) + 1;
  /** Those who wait, by when they wake. */
  readonly #timers: Timer[] = [];

  wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = { at: this.now + Math.max(0, milliseconds), wake: () => resolve() };
      const after = this.#timers.findIndex(({ at }) => at > timer.at);
      this.#timers.splice(after < 0 ? this.#timers.length : after, 0, timer);
      onAbort(signal, () => {
        const place = this.#timers.indexOf(timer);
        if (place >= 0) this.#timers.splice(place, 1);
        reject(signal!.reason as Error);
      });
    });
  }

  /** Lets time pass up to `end`, from one who wakes to the next. */
  async passUntil(end: number): Promise<void> {
    for (;;) {
      await settled();
      const next = this.#timers[0];
      if (next === undefined || next.at > end) break;
      this.#timers.shift();
      this.now = Math.max(this.now, next.at);
      next.wake();
    }
    this.now = Math.max(this.now, end);
  }

  /** The clock of a machine: it began at another moment, and goes too fast or too slow. */
  clock({ offsetMs = 0, drift = 0 } = {}): RateClock {
    return {
      now: () => this.now * (1 + drift) + offsetMs,
      wait: (milliseconds, signal) => this.wait(milliseconds / (1 + drift), signal),
    };
  }
}

/** All that can be done without waiting is done. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
