/** Fits a progress bar's line to the width of the terminal. */
import stringWidth from 'string-width';
import { formatDuration } from './numbers.js';
import { shortened } from './width.js';

/** Text next to a bar. On a narrow terminal, figures with a short form use it first; then plain strings are dropped. */
export type Figure = string | { readonly text: string; readonly short?: string };

export const textOf = (figure: Figure): string => (typeof figure === 'string' ? figure : figure.text);

interface ProgressLine {
  readonly share: number;
  readonly label: string;
  /** Example: `12/200`. */
  readonly count: string;
  readonly figures: readonly Figure[];
  readonly elapsed?: number;
  /** Example: `3 min left`; undefined if unknown. */
  readonly left?: string | undefined;
}

const barWidth = 12;

/**
 * Fits the line into `width` columns. If it is too long, it first drops the elapsed time, then shortens
 * figures, then drops figures that are strings, starting with the last, then the bar, then the label.
 */
export function fittedLine(
  { share, label, count, figures, elapsed, left }: ProgressLine,
  width: number,
): string {
  const done = Math.round(barWidth * Math.min(1, Math.max(0, share)));
  const bar = `${'━'.repeat(done)}${'·'.repeat(barWidth - done)} `;
  const seconds = Math.floor((elapsed ?? 0) / 1000);
  const before = seconds === 0 ? undefined : formatDuration(1000 * seconds);
  const time = left === undefined ? [] : [left];
  const line = (start: string, texts: readonly string[]) => [start, ...texts, ...time].join('  ');
  const whole = figures.map(textOf);
  const short = figures.map((figure) =>
    typeof figure === 'string' ? figure : (figure.short ?? figure.text),
  );
  // Variants that drop the last 1, 2, … figures that are strings.
  const loose = figures.flatMap((figure, i) => (typeof figure === 'string' ? i : [])).toReversed();
  const fewer = loose.map((_, i) => short.filter((_, at) => !loose.slice(0, i + 1).includes(at)));
  const least = fewer.at(-1) ?? short;
  const named = `${label} ${count}`;
  const candidates = [
    [bar + named, ...whole, [before, left].filter((text) => text !== undefined).join(', ')]
      .filter((text) => text !== '')
      .join('  '),
    line(bar + named, whole),
    line(bar + named, short),
    ...fewer.map((texts) => line(bar + named, texts)),
    line(named, least),
    line(count, least),
  ];
  return candidates.find((text) => stringWidth(text) <= width) ?? shortened(candidates.at(-1)!, width);
}

const recentUpdates = 40;

/** Estimates the remaining time from the pace of recent updates. */
export class TimeLeft {
  #recent: readonly { readonly at: number; readonly value: number }[];

  constructor(at: number, value: number) {
    this.#recent = [{ at, value }];
  }

  take(at: number, value: number): void {
    this.#recent = [...this.#recent, { at, value }].slice(-recentUpdates - 1);
  }

  /** Example: `3 min 20 s left`; undefined without recent progress, or if less than half a second is left. */
  text(now: number, total: number): string | undefined {
    const [first, last] = [this.#recent[0]!, this.#recent.at(-1)!];
    const done = last.value - first.value;
    if (done <= 0) return undefined;
    const usual = (last.at - first.at) / (this.#recent.length - 1);
    // If an update is overdue, the pace has slowed.
    const overdue = Math.max(0, now - last.at - usual);
    const left = ((last.at - first.at + overdue) / done) * (total - last.value);
    const seconds = Math.round(left / 1000);
    return seconds > 0 ? `${formatDuration(1000 * seconds)} left` : undefined;
  }
}
