/** Shows the progress of a plan's runs: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
import { basename, join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import type { Display } from '../experiment/session.js';
import { apart, formatReturn, plural } from '../format/numbers.js';
import { createProgress, type Progress } from '../format/progress.js';
import type { Figure } from '../format/progress-line.js';
import type { RunEvent } from '../runs/events.js';
import { type RunResult, resultOf, summaryOf } from '../runs/summary.js';
import type { Plan, PlanEntry, PlayArguments } from './plan.js';
import type { RunEnd } from './play-run.js';
import { alertText, createDisplay, rateText, waitingText } from './run-progress.js';

export interface PlanDisplay<Entry extends PlanEntry> {
  /** Called before each run that isn't skipped. */
  begin(entry: Entry): void;
  event(entry: Entry, event: RunEvent): void;
  end(entry: Entry, end: RunEnd): void;
  note(text: string): void;
  close(): void;
}

/** A completed or interrupted run of a study, as `--json` prints it. */
interface StudyRunLine extends RunResult {
  readonly kind: 'run';
  readonly experiment?: string | undefined;
  readonly arm?: string | undefined;
  /** Index of the repeat, from 0. */
  readonly repeat?: number | undefined;
  readonly seed: number;
}

interface Shown<Entry extends PlanEntry> extends Pick<PlayArguments, 'json' | 'quiet'> {
  readonly plan: Plan<Entry>;
  readonly jobs: number;
  readonly directory: string;
  readonly context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds' | 'cwd'>;
}

export function createPlanDisplay<Entry extends PlanEntry>(shown: Shown<Entry>): PlanDisplay<Entry> {
  const { context, jobs, json, plan, quiet } = shown;
  const isBar = !json && !quiet && context.terminal !== undefined;
  // Repeats of an experiment are shown in as much detail as a single run, but a progress bar can show only one of
  // them.
  return plan.kind === 'repeats' && !(isBar && jobs > 1) ? new RepeatsDisplay(shown) : new RunsDisplay(shown);
}

const failureText = ({ afterFailure }: Plan, { path }: PlanEntry, message: string) =>
  `${path}: ${message}${afterFailure === undefined ? '' : `; ${afterFailure.others} continue`}`;

/** Shows each run in the same way as a single run, with a label if several run at once. */
class RepeatsDisplay<Entry extends PlanEntry> implements PlanDisplay<Entry> {
  readonly #shown: Shown<Entry>;
  readonly #displays = new Map<Entry, Display>();

  constructor(shown: Shown<Entry>) {
    this.#shown = shown;
  }

  begin(entry: Entry) {
    const { context, jobs, json, plan, quiet } = this.#shown;
    if (!json && !quiet) {
      const number = plan.entries.indexOf(entry) + 1;
      this.note(`repeat ${number} of ${plan.entries.length}, seed ${entry.config.seed}`);
    }
    const note = (text: string) => this.note(`${entry.path}  ${text}`);
    const display =
      jobs > 1
        ? createDisplay({ json, quiet }, { ...context, terminal: undefined, note }, entry.path)
        : createDisplay({ json, quiet }, context);
    this.#displays.set(entry, display);
  }

  event(entry: Entry, event: RunEvent) {
    this.#displays.get(entry)?.show(event);
  }

  end(entry: Entry, end: RunEnd) {
    this.#displays.get(entry)?.close();
    this.#displays.delete(entry);
    if (end.kind === 'failed') this.note(failureText(this.#shown.plan, entry, end.message));
  }

  note(text: string) {
    this.#shown.context.note(text);
  }

  close() {
    for (const display of this.#displays.values()) display.close();
  }
}

/** Shows the overall progress of all runs, plus a line per run. */
class RunsDisplay<Entry extends PlanEntry> implements PlanDisplay<Entry> {
  readonly #shown: Shown<Entry>;
  readonly #progress: Progress;
  /** Completed and planned iterations of each run in progress. */
  readonly #playing = new Map<Entry, { of: number; done: number }>();
  #ended = 0;
  readonly #warned = new Set<string>();

  constructor(shown: Shown<Entry>) {
    this.#shown = shown;
    this.#progress = createProgress(shown, shown.context);
    this.#progress.begin({
      label: 'runs',
      total: shown.plan.entries.length,
      value: 0,
      amount: (value) => `${Math.floor(value)}`,
    });
  }

  begin(entry: Entry) {
    this.#playing.set(entry, { of: 1, done: 0 });
  }

  event(entry: Entry, event: RunEvent) {
    if (event.kind === 'waiting') this.note(`${entry.path}: ${waitingText(event)}`);
    if (event.kind === 'rate-limited')
      this.#progress.pause(`${entry.path}  ${rateText(event)}`, 1000 * event.seconds);
    if (event.kind === 'warning' || event.kind === 'fault') this.#warn(entry, event);
    const run = this.#playing.get(entry)!;
    if (event.kind === 'run-started') run.of = event.iterations;
    if (event.kind !== 'iteration-finished') return;
    run.done = event.iteration;
    const asText = apart([event.score, event.best]);
    const returnText = (value: number | undefined) => (value === undefined ? '–' : asText(value));
    this.#update([
      { text: entry.path, short: basename(entry.path) },
      `now ${returnText(event.score)}`,
      { text: `best ${returnText(event.best)}` },
    ]);
  }

  end(entry: Entry, end: RunEnd) {
    const { plan } = this.#shown;
    this.#playing.delete(entry);
    this.#ended++;
    if (end.kind === 'failed') this.note(failureText(plan, entry, end.message));
    else this.#showRun(entry);
    // The output of the last run already shows that all runs have ended.
    if (this.#ended < plan.entries.length) this.#update([entry.path]);
  }

  #showRun(entry: Entry) {
    const { context, directory, plan } = this.#shown;
    const result = resultOf(summaryOf(join(directory, entry.path)), context.cwd);
    const { arm, config, experiment, repeat } = entry;
    const line: StudyRunLine = { kind: 'run', experiment, arm, repeat, seed: config.seed, ...result };
    this.#progress.emit(line);
    const { best, confirmed, iterations } = result;
    const isObserved = config.confirmation.candidates === 0 && best !== null;
    const score =
      confirmed !== null
        ? `confirmed ${formatReturn(confirmed.mean)}`
        : isObserved
          ? `best ${formatReturn(best.return)}`
          : 'not confirmed';
    const place = `run ${this.#ended}/${plan.entries.length}`;
    this.#progress.say(`${place}  ${entry.path}  ${plural(iterations, 'iteration')}, ${score}`);
  }

  /** Counts unfinished runs as fractions (confirmation is one more iteration), to keep the time estimate steady. */
  #update(figures: readonly Figure[]) {
    let value = this.#ended;
    for (const { done, of } of this.#playing.values()) value += done / (of + 1);
    this.#progress.update(value, figures);
  }

  /** Shows a warning or fault only once, even if many runs raise it with different numbers. */
  #warn({ path }: Entry, event: Parameters<typeof alertText>[0]) {
    const key = event.kind === 'fault' ? event.fault : event.message.replaceAll(/\d+/g, '#');
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.note(`${path}: ${alertText(event)}`);
  }

  note(text: string) {
    this.#progress.alert(text);
  }

  close() {
    this.#progress.close();
  }
}
