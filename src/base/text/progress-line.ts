/** Fits a progress bar's line to the width of the terminal. */
import stringWidth from 'string-width';
import { formatDuration } from './numbers.js';
import { truncateText } from './width.js';

interface ProgressLine {
  readonly share: number;
  readonly label: string;
  /** Example: `12/200`. */
  readonly count: string;
  /** The most important first. */
  readonly figures: readonly string[];
  /** In milliseconds. */
  readonly elapsedMs: number;
  /** Example: `3 min left`; undefined if unknown. */
  readonly remainingTime?: string | undefined;
}

const barWidth = 12;

/** Fits the line into `width` columns: drops the elapsed time, later figures, the bar, all figures, then the label. */
export function fitLine(
  { share, label, count, figures, elapsedMs, remainingTime }: ProgressLine,
  width: number,
): string {
  const doneWidth = Math.round(barWidth * Math.min(1, Math.max(0, share)));
  const bar = `${'━'.repeat(doneWidth)}${'·'.repeat(barWidth - doneWidth)} `;
  const seconds = Math.floor(elapsedMs / 1000);
  const timeLeft = remainingTime === undefined ? [] : [remainingTime];
  const fullTime = seconds === 0 ? timeLeft : [[formatDuration(1000 * seconds), ...timeLeft].join(', ')];
  const labelText = `${label} ${count}`;
  const fewerFigures = figures.map((_, i) => figures.slice(0, figures.length - i));
  const lines = [
    [bar + labelText, ...figures, ...fullTime],
    ...fewerFigures.map((texts) => [bar + labelText, ...texts, ...timeLeft]),
    ...fewerFigures.map((texts) => [labelText, ...texts, ...timeLeft]),
    [labelText, ...timeLeft],
    [count, ...timeLeft],
  ].map((parts) => parts.join('  '));
  return lines.find((line) => stringWidth(line) <= width) ?? truncateText(lines.at(-1)!, width);
}

const recentUpdateCount = 40;

/** The remaining time: as given with the last update, or estimated from the pace of recent updates. */
export class TimeLeft {
  #recentUpdates: readonly { readonly timeMs: number; readonly value: number }[];
  #givenSeconds: number | undefined;

  constructor(timeMs: number, value: number) {
    this.#recentUpdates = [{ timeMs, value }];
  }

  update(timeMs: number, value: number, secondsLeft?: number): void {
    this.#givenSeconds = secondsLeft;
    this.#recentUpdates = [...this.#recentUpdates, { timeMs, value }].slice(-recentUpdateCount - 1);
  }

  /** Example: `3 min 20 s left`; undefined if it can't be estimated, or less than half a second is left. */
  text(now: number, total: number): string | undefined {
    const seconds = Math.round(this.#left(now, total) / 1000);
    return seconds > 0 ? `${formatDuration(1000 * seconds)} left` : undefined;
  }

  #left(now: number, total: number): number {
    const [first, last] = [this.#recentUpdates[0]!, this.#recentUpdates.at(-1)!];
    const done = last.value - first.value;
    if (this.#givenSeconds !== undefined) return 1000 * this.#givenSeconds - (now - last.timeMs);
    if (done <= 0) return 0;
    const usualMs = (last.timeMs - first.timeMs) / (this.#recentUpdates.length - 1);
    // If an update is overdue, the pace has slowed.
    const overdue = Math.max(0, now - last.timeMs - usualMs);
    return ((last.timeMs - first.timeMs + overdue) / done) * (total - last.value);
  }
}
