/** The line of a progress bar, as wide as the terminal has room. */
import { formatDuration } from './numbers.js';
import { displayWidth, shortened } from './width.js';

/** A text beside a bar. One that is to stay is shown on narrow terminals, too, there by its short form. */
export type Figure = string | { readonly text: string; readonly short?: string };

export const textOf = (figure: Figure): string => (typeof figure === 'string' ? figure : figure.text);

interface ProgressLine {
  /** 0 … 1. */
  readonly share: number;
  readonly label: string;
  /** `12/200`. */
  readonly count: string;
  readonly figures: readonly Figure[];
  /** Milliseconds. */
  readonly elapsed?: number;
  /** `3 min left`; undefined where it is not known. */
  readonly left?: string | undefined;
}

const barWidth = 12;

/**
 * The line in at most `width` columns. Where it is too long, first the time so far is left out, then figures take their
 * short form, then those that need not stay are left out from the last one on, then the bar, then the label.
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
  // Without the last 0, 1, 2, … of the figures that need not stay.
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
  return candidates.find((text) => displayWidth(text) <= width) ?? shortened(candidates.at(-1)!, width);
}
