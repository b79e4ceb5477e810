/** Shows progress: a bar on a terminal, occasional lines elsewhere, JSON lines for machines, or nothing. */
import process from 'node:process';
import { styleText } from 'node:util';
import { MultiBar, type SingleBar } from 'cli-progress';
import type { CommandContext } from '../context.js';
import { safeLines, streamText } from '../terminal-text.js';
import { formatCount } from './numbers.js';
import { fitLine, TimeLeft } from './progress-line.js';
import { wrapText } from './width.js';

export interface ProgressMode {
  /** Writes one JSON object per record to standard output, and doesn't show progress. */
  readonly json?: boolean | undefined;
  /** Shows only what `alert` prints. */
  readonly quiet?: boolean | undefined;
}

interface ProgressTask {
  /** Name of the unit of work, such as `iteration`. */
  readonly label: string;
  readonly total: number;
  /** Amount done at the start; default 0. */
  readonly value?: number;
  /** Minimum seconds between lines if there is no bar (default 10). The line for `total` is always printed. */
  readonly lineSeconds?: number;
  /** Formats an amount of work; by default, as a whole number. */
  readonly formatAmount?: (value: number) => string;
}

export interface Progress {
  /** Writes a record in JSON mode; ignored in the other modes. */
  emit(record: object): void;
  /** Prints a permanent line, above the bar if there is one. */
  say(text: string): void;
  /** Prints a permanent line on a terminal; elsewhere, prints nothing, because earlier lines stay visible. */
  keep(text: string): void;
  /** Prints a permanent line even in quiet mode. */
  alert(text: string): void;
  /** Starts a piece of work, which replaces the previous one. */
  begin(task: ProgressTask): void;
  /** Sets the amount done, the figures next to the bar (the most important first) and, if known, the time left. */
  update(value: number, figures?: readonly string[], secondsLeft?: number): void;
  /**
   * Says why nothing will happen for `durationMs` milliseconds: on a terminal, until the next update; elsewhere, only
   * if there would otherwise be no output for ten seconds.
   */
  pause(text: string, durationMs: number): void;
  /** Removes the bar and restores the terminal; safe to call more than once. */
  close(): void;
}

type Context = Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>;

export function createProgress({ json = false, quiet = false }: ProgressMode, context: Context): Progress {
  const noop = () => undefined;
  if (!json && !quiet)
    return context.terminal === undefined
      ? new ProgressLines(context)
      : new ProgressBar(context.terminal as NodeJS.WriteStream, context.milliseconds);
  return {
    emit: json ? (record) => context.print(JSON.stringify(record)) : noop,
    alert: context.note,
    keep: noop,
    say: noop,
    begin: noop,
    update: noop,
    pause: noop,
    close: noop,
  };
}

/** Formats a warning for standard error. */
export const warningText = (message: string) =>
  `${styleText('yellow', 'warning', { stream: process.stderr })} ${safeLines(message)}`;

const maxSilenceMs = 10_000;

class ProgressLines implements Progress {
  readonly #context: Context;
  #task: ProgressTask | undefined;
  #timeLeft = new TimeLeft(0, 0);
  #lastUpdate = 0;
  #lastLine = 0;
  #lastPause = Number.NEGATIVE_INFINITY;

  constructor(context: Context) {
    this.#context = context;
  }

  emit() {}

  say(text: string) {
    this.#context.note(text);
  }

  keep() {}

  alert(text: string) {
    this.#context.note(text);
  }

  begin(task: ProgressTask) {
    this.#task = task;
    this.#lastUpdate = this.#context.milliseconds();
    this.#lastLine = this.#lastUpdate;
    this.#timeLeft = new TimeLeft(this.#lastLine, task.value ?? 0);
  }

  update(value: number, figures: readonly string[] = [], secondsLeft?: number) {
    if (this.#task === undefined) return;
    const { label, total, lineSeconds = 10, formatAmount = formatCount } = this.#task;
    const now = this.#context.milliseconds();
    this.#timeLeft.update(now, value, secondsLeft);
    // A line about a pause doesn't delay the next figures.
    if (value < total && now - this.#lastUpdate < 1000 * lineSeconds) return;
    this.#lastUpdate = now;
    this.#lastLine = now;
    const count = `${label} ${formatAmount(value)}/${formatAmount(total)}`;
    this.say([count, ...figures, this.#timeLeft.text(now, total) ?? []].flat().join('  '));
  }

  pause(text: string, durationMs: number) {
    const now = this.#context.milliseconds();
    if (this.#task === undefined || now + durationMs - this.#lastLine < maxSilenceMs) return;
    // Report a pause once, even if several calls wait.
    if (now - this.#lastPause < maxSilenceMs) return;
    this.#lastLine = now;
    this.#lastPause = now;
    this.say(text);
  }

  close() {
    this.#task = undefined;
  }
}

const drawingIntervalMs = 100;

class ProgressBar implements Progress {
  readonly #terminal: NodeJS.WriteStream;
  readonly #milliseconds: () => number;
  #bars: MultiBar | undefined;
  #bar: SingleBar | undefined;
  #figures: readonly string[] = [];
  #pauseTexts: readonly string[] = [];
  #timeLeft = new TimeLeft(0, 0);
  #lastDraw = 0;

  constructor(terminal: NodeJS.WriteStream, milliseconds: () => number) {
    this.#terminal = terminal;
    this.#milliseconds = milliseconds;
  }

  emit() {}

  say(text: string) {
    // While a bar is shown, the terminal doesn't wrap lines.
    const lines = `${wrapText(streamText(text, true), this.#width()).join('\n')}\n`;
    if (this.#bars === undefined) this.#terminal.write(lines);
    else this.#bars.log(lines);
  }

  keep(text: string) {
    this.say(text);
  }

  alert(text: string) {
    this.say(text);
  }

  /** Usable columns: one stays free, because a cursor after the last column would move to the next line. */
  readonly #width = () => (this.#terminal.columns || 80) - 1;

  begin({ label, total, value = 0, formatAmount = formatCount }: ProgressTask) {
    this.close();
    this.#figures = [];
    this.#pauseTexts = [];
    const startMs = this.#milliseconds();
    this.#timeLeft = new TimeLeft(startMs, value);
    this.#bars = new MultiBar({
      format: (_options, { value: amount }) => {
        const time = this.#milliseconds();
        return fitLine(
          {
            share: total > 0 ? amount / total : 1,
            label,
            count: `${formatAmount(amount)}/${formatAmount(total)}`,
            figures: [...this.#pauseTexts, ...this.#figures],
            elapsedMs: time - startMs,
            remainingTime: this.#timeLeft.text(time, total),
          },
          this.#width(),
        );
      },
      stream: this.#terminal,
      hideCursor: true,
      clearOnComplete: true,
      fps: 1000 / drawingIntervalMs,
      // A logged line overwrites the bar, so redraw the bar even if it hasn't changed.
      forceRedraw: true,
      gracefulExit: false,
    });
    // If the process exits without closing the display, show the cursor again.
    process.once('exit', this.#onExit);
    this.#bar = this.#bars.create(total, value);
  }

  update(value: number, figures: readonly string[] = [], secondsLeft?: number) {
    this.#figures = figures;
    this.#pauseTexts = [];
    this.#bar?.update(value);
    const now = this.#milliseconds();
    this.#timeLeft.update(now, value, secondsLeft);
    // A timer also redraws the bar, but not while work blocks the thread.
    if (now - this.#lastDraw < drawingIntervalMs) return;
    this.#lastDraw = now;
    this.#bars?.update();
  }

  pause(text: string) {
    this.#pauseTexts = [text];
    this.#bars?.update();
  }

  readonly #onExit = () => this.close();

  close() {
    process.removeListener('exit', this.#onExit);
    // The last redraw writes everything that was logged since the previous one.
    this.#bars?.update();
    this.#bars?.stop();
    this.#bars = undefined;
    this.#bar = undefined;
  }
}
