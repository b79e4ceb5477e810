/** Progress of work: a bar on a terminal, a line now and then elsewhere, JSON lines for machines, or nothing. */
import process from 'node:process';
import { styleText } from 'node:util';
import { MultiBar, type SingleBar } from 'cli-progress';
import type { CommandContext } from '../base/context.js';
import { forStream, harmlessLines } from '../base/terminal-text.js';
import { formatCount } from './numbers.js';
import { type Figure, fittedLine, textOf } from './progress-line.js';
import { TimeLeft } from './time-left.js';
import { wrapped } from './width.js';

export interface ProgressMode {
  /** One JSON object a record on the standard output, and no display. */
  readonly json?: boolean | undefined;
  /** Alerts only. */
  readonly quiet?: boolean | undefined;
}

/** Work whose end is known. */
interface Work {
  /** What is counted: `iteration`. */
  readonly label: string;
  readonly total: number;
  /** Amount done before; 0 by default. */
  readonly value?: number;
  /** Seconds between two lines where no bar is drawn, 10 by default; the last value always gets its line. */
  readonly lineEvery?: number;
  /** Shows the elapsed and the remaining time; true unless the figures tell them. */
  readonly timed?: boolean;
  /** Shows an amount of the work; a whole number by default. */
  readonly amount?: (value: number) => string;
}

export interface Progress {
  /** A record for machines; nothing in the other modes. */
  emit(record: object): void;
  /** A line for the scroll-back. */
  say(text: string): void;
  /** A line for the scroll-back where updates overwrite each other; elsewhere the update itself stays. */
  keep(text: string): void;
  /** A line for the scroll-back, also when nothing else is shown. */
  alert(text: string): void;
  /** Begins work, in place of the work before. */
  begin(work: Work): void;
  /** What is done now, and short texts that go with it. */
  update(value: number, figures?: readonly Figure[]): void;
  /**
   * Why nothing is done for the next `forMs` milliseconds: shown until the next update on a terminal; elsewhere as a line,
   * where there would be none for ten seconds otherwise.
   */
  pause(text: string, forMs: number): void;
  /** Leaves the terminal as it was; a second call does nothing. */
  close(): void;
}

type Outside = Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>;

export function createProgress({ json = false, quiet = false }: ProgressMode, context: Outside): Progress {
  const nothing = () => undefined;
  if (!json && !quiet)
    return context.terminal === undefined
      ? new ProgressLines(context)
      : new ProgressBar(context.terminal, context.milliseconds);
  return {
    emit: json ? (record) => context.print(JSON.stringify(record)) : nothing,
    alert: context.note,
    keep: nothing,
    say: nothing,
    begin: nothing,
    update: nothing,
    pause: nothing,
    close: nothing,
  };
}

/** A warning as it is shown on the stream of notes. */
export const warningText = (message: string) =>
  `${styleText('yellow', 'warning', { stream: process.stderr })} ${harmlessLines(message)}`;

/** The longest silence without a reason. */
const pauseMs = 10_000;

class ProgressLines implements Progress {
  readonly #context: Outside;
  #work: Work | undefined;
  #left = new TimeLeft(0, 0);
  #lastLine = 0;

  constructor(context: Outside) {
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

  begin(work: Work) {
    this.#work = work;
    this.#lastLine = this.#context.milliseconds();
    this.#left = new TimeLeft(this.#lastLine, work.value ?? 0);
  }

  update(value: number, figures: readonly Figure[] = []) {
    if (this.#work === undefined) return;
    const { label, total, lineEvery = 10, timed = true, amount = formatCount } = this.#work;
    const now = this.#context.milliseconds();
    this.#left.take(now, value);
    if (value < total && now - this.#lastLine < 1000 * lineEvery) return;
    this.#lastLine = now;
    const left = timed ? this.#left.text(now, total) : undefined;
    const texts = figures.map(textOf);
    this.say([`${label} ${amount(value)}/${amount(total)}`, ...texts, ...(left ? [left] : [])].join('  '));
  }

  pause(text: string, forMs: number) {
    const now = this.#context.milliseconds();
    if (this.#work === undefined || now + forMs - this.#lastLine < pauseMs) return;
    this.#lastLine = now;
    this.say(text);
  }

  close() {
    this.#work = undefined;
  }
}

/** Milliseconds between two drawings. */
const drawingInterval = 100;

class ProgressBar implements Progress {
  readonly #terminal: NodeJS.WriteStream;
  readonly #milliseconds: () => number;
  #bars: MultiBar | undefined;
  #bar: SingleBar | undefined;
  #figures: readonly Figure[] = [];
  #left = new TimeLeft(0, 0);
  #drawn = 0;

  constructor(terminal: NodeJS.WriteStream, milliseconds: () => number) {
    this.#terminal = terminal;
    this.#milliseconds = milliseconds;
  }

  emit() {}

  say(text: string) {
    // A terminal that shows a bar breaks no lines by itself.
    const lines = `${wrapped(forStream(text, true), this.#width()).join('\n')}\n`;
    if (this.#bars === undefined) this.#terminal.write(lines);
    else this.#bars.log(lines);
  }

  keep(text: string) {
    this.say(text);
  }

  alert(text: string) {
    this.say(text);
  }

  /** One column is left free: a cursor that stands behind the last one would be on the next line. */
  readonly #width = () => (this.#terminal.columns || 80) - 1;

  begin({ label, total, value = 0, timed = true, amount = formatCount }: Work) {
    this.close();
    this.#figures = [];
    const began = this.#milliseconds();
    this.#left = new TimeLeft(began, value);
    this.#bars = new MultiBar({
      format: (_options, { value: now }) => {
        const time = this.#milliseconds();
        return fittedLine(
          {
            share: total > 0 ? now / total : 1,
            label,
            count: `${amount(now)}/${amount(total)}`,
            figures: this.#figures,
            ...(timed && { elapsed: time - began, left: this.#left.text(time, total) }),
          },
          this.#width(),
        );
      },
      stream: this.#terminal,
      hideCursor: true,
      clearOnComplete: true,
      fps: 1000 / drawingInterval,
      // A logged line overwrites the bar, which must be drawn again even where nothing changed.
      forceRedraw: true,
      gracefulExit: false,
    });
    // A process that ends without closing its display must show the cursor again.
    process.once('exit', this.#onExit);
    this.#bar = this.#bars.create(total, value);
  }

  update(value: number, figures: readonly Figure[] = []) {
    this.#figures = figures;
    this.#bar?.update(value);
    const now = this.#milliseconds();
    this.#left.take(now, value);
    // A timer draws, too, but not while the work blocks the thread.
    if (now - this.#drawn < drawingInterval) return;
    this.#drawn = now;
    this.#bars?.update();
  }

  pause(text: string) {
    this.#figures = [text];
    this.#bars?.update();
  }

  readonly #onExit = () => this.close();

  close() {
    process.removeListener('exit', this.#onExit);
    // The last drawing writes what was logged since the one before.
    this.#bars?.update();
    this.#bars?.stop();
    this.#bars = undefined;
    this.#bar = undefined;
  }
}
