/** Shows the progress of a plan's runs: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { apart, formatReturn, plural } from '../base/text/numbers.js';
import { createProgress, type Progress } from '../base/text/progress.js';
import type { RunEvent } from '../runs/events.js';
import { resultOf, summaryOf } from '../runs/summary.js';
import type { Plan, PlanEntry, ScheduleArguments } from './plan.js';
import type { RunEnd } from './run-entry.js';
import { alertText, rateText, waitingText } from './run-progress.js';

/** Shows the overall progress of all runs, plus a line per run. */
export class PlanDisplay {
  readonly #plan: Plan;
  readonly #directory: string;
  readonly #context: CommandContext;
  readonly #progress: Progress;
  /** Completed and planned iterations of each run in progress. */
  readonly #running = new Map<PlanEntry, { of: number; done: number }>();
  #ended = 0;
  readonly #noted = new Set<string>();

  constructor(
    plan: Plan,
    directory: string,
    mode: Pick<ScheduleArguments, 'json' | 'quiet'>,
    context: CommandContext,
  ) {
    this.#plan = plan;
    this.#directory = directory;
    this.#context = context;
    this.#progress = createProgress(mode, context);
    this.#progress.begin({
      label: 'runs',
      total: plan.entries.length,
      value: 0,
      amount: (value) => `${Math.floor(value)}`,
    });
  }

  /** Called before each run that isn't skipped. */
  begin(entry: PlanEntry) {
    this.#running.set(entry, { of: 1, done: 0 });
  }

  event(entry: PlanEntry, event: RunEvent) {
    if (event.kind === 'waiting') this.note(`${entry.path}: ${waitingText(event)}`);
    if (event.kind === 'rate-limited')
      this.#progress.pause(`${entry.path}  ${rateText(event)}`, 1000 * event.seconds);
    if (event.kind === 'warning' || event.kind === 'fault') this.#warn(entry, event);
    const run = this.#running.get(entry)!;
    if (event.kind === 'run-started') run.of = event.iterations;
    if (event.kind !== 'iteration-finished') return;
    run.done = event.iteration;
    const asText = apart([event.score, event.best]);
    const returnText = (value: number | undefined) => (value === undefined ? '–' : asText(value));
    this.#update([entry.path, `now ${returnText(event.score)}`, `best ${returnText(event.best)}`]);
  }

  end(entry: PlanEntry, end: RunEnd) {
    const { entries, others } = this.#plan;
    this.#running.delete(entry);
    this.#ended++;
    if (end.kind === 'failed') this.note(`${entry.path}: ${end.message}; ${others} continue`);
    else this.#showRun(entry);
    // The output of the last run already shows that all runs have ended.
    if (this.#ended < entries.length) this.#update([entry.path]);
  }

  #showRun({ arm, config, path }: PlanEntry) {
    const result = resultOf(summaryOf(join(this.#directory, path)), this.#context.cwd);
    this.#progress.emit({ kind: 'run', arm, seed: config.seed, ...result });
    const { confirmed, iterations } = result;
    const score = confirmed === null ? 'not confirmed' : `confirmed ${formatReturn(confirmed.mean)}`;
    const place = `run ${this.#ended}/${this.#plan.entries.length}`;
    this.#progress.say(`${place}  ${path}  ${plural(iterations, 'iteration')}, ${score}`);
  }

  /** Counts unfinished runs as fractions (confirmation is one more iteration), to keep the time estimate steady. */
  #update(figures: readonly string[]) {
    let value = this.#ended;
    for (const { done, of } of this.#running.values()) value += done / (of + 1);
    this.#progress.update(value, figures);
  }

  /** Shows a warning or fault only once, even if many runs raise it with different numbers. */
  #warn({ path }: PlanEntry, event: Parameters<typeof alertText>[0]) {
    const key = event.kind === 'fault' ? event.fault : event.message.replaceAll(/\d+/g, '#');
    if (!this.#noted.has(key)) this.note(`${path}: ${alertText(event)}`);
    this.#noted.add(key);
  }

  note(text: string) {
    this.#progress.alert(text);
  }

  /** Shows a note that several runs repeat only once. */
  noteOnce(text: string) {
    if (!this.#noted.has(text)) this.note(text);
    this.#noted.add(text);
  }

  close() {
    this.#progress.close();
  }
}
