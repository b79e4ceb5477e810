import { formatDuration } from './numbers.js';

/** Number of recent updates used for the estimate. */
const recentUpdates = 40;

/** Estimates the remaining time from the pace of recent updates. */
export class TimeLeft {
  #recent: readonly { readonly at: number; readonly value: number }[];

  /** @param at milliseconds */
  constructor(at: number, value: number) {
    this.#recent = [{ at, value }];
  }

  take(at: number, value: number): void {
    this.#recent = [...this.#recent, { at, value }].slice(-recentUpdates - 1);
  }

  /** Example: `3 min 20 s left`; undefined before anything is done, in the last second, and when everything is done. */
  text(now: number, total: number): string | undefined {
    const [first, last] = [this.#recent[0]!, this.#recent.at(-1)!];
    const done = last.value - first.value;
    if (done <= 0) return undefined;
    const usual = (last.at - first.at) / (this.#recent.length - 1);
    // An overdue update shows that the pace has slowed.
    const overdue = Math.max(0, now - last.at - usual);
    const left = ((last.at - first.at + overdue) / done) * (total - last.value);
    const seconds = Math.round(left / 1000);
    return seconds > 0 ? `${formatDuration(1000 * seconds)} left` : undefined;
  }
}
