import type { CommandContext } from '../base/context.js';
import {
  apart,
  formatCompact,
  formatCost,
  formatDuration,
  formatInterval,
  formatReturn,
  plural,
} from '../base/text/numbers.js';
import { createProgress, type Progress, type ProgressMode, warningText } from '../base/text/progress.js';
import { type Confirmation, type RunEvent, tallyOf } from '../runs/events.js';
import { formatCaps } from '../runs/summary.js';
import { mean } from '../statistics/descriptive.js';

/** Where the progress of a run is shown. */
export interface Display {
  show(event: RunEvent): void;
  close(): void;
}

/** Shows the progress of a run, or of games: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
export function createDisplay(
  mode: ProgressMode,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
  areGames = false,
): Display {
  const progress = createProgress(mode, context);
  const show = areGames ? new GamesDisplay(progress) : new RunDisplay(progress);
  return {
    show: (event) => (mode.json === true ? progress.emit(withoutBulk(event)) : show.event(event)),
    close: () => progress.close(),
  };
}

/** An event as `--json` prints it; trajectories, messages and replies stay in the run directory. */
function withoutBulk(event: RunEvent): object {
  if (event.kind === 'game-finished') {
    const { last: _last, turns: _turns, ...game } = event.game;
    return { kind: event.kind, game };
  }
  if (event.kind === 'call-finished') {
    const { messages: _messages, completion, ...call } = event.call;
    const { text: _text, reasoning: _reasoning, ...figures } = completion ?? {};
    return { kind: event.kind, call: { ...call, ...figures } };
  }
  if (!('episodes' in event)) return event;
  const { episodes: _episodes, ...rest } = event;
  return rest;
}

/** Shows what the model does: warnings, faults and pauses. */
function showTrouble(progress: Progress, event: RunEvent): void {
  switch (event.kind) {
    case 'warning':
    case 'fault':
      progress.alert(alertText(event));
      break;
    case 'waiting':
      progress.alert(waitingText(event));
      break;
    case 'rate-limited':
      progress.pause(rateText(event), 1000 * event.seconds);
      break;
    default:
  }
}

class GamesDisplay {
  readonly #progress: Progress;
  #done = 0;
  #calls = 0;
  /** Results of the games that this process has played. */
  readonly #results: number[] = [];

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  event(event: RunEvent): void {
    switch (event.kind) {
      case 'run-started':
        this.#done = event.resumedAt ?? 0;
        this.#progress.say(`${event.environment}, ${plural(event.iterations, 'game')}, ${event.model}`);
        this.#progress.begin({ label: 'game', total: event.iterations, value: this.#done });
        break;
      case 'call-finished':
        this.#calls++;
        if (this.#calls % callsBetween === 0)
          this.#progress.update(this.#done, [`${formatCompact(this.#calls)} calls`]);
        break;
      case 'game-finished': {
        const { length, return: total, score } = event.game;
        this.#results.push(score ?? total);
        const what = score === undefined ? 'return' : 'score';
        this.#progress.update(++this.#done, [
          `mean ${what} ${formatReturn(mean(this.#results))}`,
          `${length} steps`,
        ]);
        break;
      }
      default:
        showTrouble(this.#progress, event);
    }
  }
}

const callsBetween = 20;

type Of<Kind extends RunEvent['kind']> = Extract<RunEvent, { readonly kind: Kind }>;

class RunDisplay {
  readonly #progress: Progress;
  #iterations = 0;
  #completed = 0;
  #warmingUp = false;
  #tally = tallyOf([]);
  #best: Best | undefined;
  /** The best score that has been printed permanently. */
  #kept: Best | undefined;
  #confirmations = 0;

  constructor(progress: Progress) {
    this.#progress = progress;
  }

  event(event: RunEvent): void {
    switch (event.kind) {
      case 'run-started':
        this.#start(event);
        break;
      case 'warmup-evaluated':
        this.#count(event.entry);
        this.#warmUp(event);
        break;
      case 'candidate-evaluated':
        this.#count(event.entry);
        break;
      case 'proposal-rejected':
      case 'revised':
        this.#tally = tallyOf([event], this.#tally);
        break;
      case 'iteration-finished':
        this.#completed = event.iteration;
        this.#keepBest();
        this.#progress.update(event.iteration, [...this.#figures(event.score), ...usageFigures(event)]);
        break;
      case 'confirmation-started':
        this.#confirm(event);
        break;
      case 'confirmed':
        this.#confirmed(event.confirmation);
        break;
      default:
        showTrouble(this.#progress, event);
    }
  }

  #start(event: Extract<RunEvent, { kind: 'run-started' }>): void {
    this.#iterations = event.iterations;
    this.#completed = (event.resumedAt ?? 1) - 1;
    this.#best = event.best;
    this.#kept = event.best;
    this.#tally = event.tally ?? tallyOf([]);
    const { environment, model, parameters } = event;
    const policies = parameters === undefined ? 'programs' : `${parameters} parameters`;
    this.#progress.say(`${environment}, ${policies}, ${model}`);
    if (event.resumedAt !== undefined) this.#progress.say(`resumed at iteration ${event.resumedAt}`);
    this.#iterate();
  }

  #iterate(): void {
    this.#progress.begin({
      label: 'iteration',
      total: this.#iterations,
      value: this.#completed,
      lineEvery: 0,
    });
  }

  #warmUp({ entry, of }: Of<'warmup-evaluated'>): void {
    if (!this.#warmingUp) this.#progress.begin({ label: 'warm-up', total: of, value: entry.candidate });
    this.#warmingUp = true;
    this.#progress.update(entry.candidate + 1, this.#figures(entry.score));
    if (entry.candidate + 1 < of) return;
    this.#keepBest();
    this.#iterate();
  }

  /** On a terminal, the progress line is overwritten, so improvements are also printed permanently. */
  #keepBest(): void {
    const [best, before] = [this.#best, this.#kept];
    if (best === undefined || best === before) return;
    this.#kept = best;
    const asText = apart([best.score, before?.score]);
    const than = before === undefined ? '' : `, was ${asText(before.score)}`;
    this.#progress.keep(`${placeOf(best)}  best ${asText(best.score)}${than}`);
  }

  #confirm({ candidates, episodesEach, of }: Extract<RunEvent, { kind: 'confirmation-started' }>): void {
    const on = `on ${plural(episodesEach, 'unseen episode')}`;
    this.#progress.say(
      candidates === 1
        ? `confirming the best policy ${on}`
        : `confirming the best ${candidates} policies, then the chosen one, ${on} each`,
    );
    this.#progress.begin({ label: 'confirmation', total: of, lineEvery: 0 });
  }

  #confirmed(confirmation: Confirmation): void {
    const { ci95, mean, stage } = confirmation;
    const figures = [
      `${stage === 'final' ? 'confirmed' : 'mean'} ${formatReturn(mean)}`,
      `95 % interval ${formatInterval(ci95)}`,
      placeOf(confirmation),
    ];
    this.#progress.update(++this.#confirmations, figures);
  }

  #count({ score, iteration }: Of<'warmup-evaluated'>['entry']): void {
    if (this.#best === undefined || score > this.#best.score) this.#best = { score, iteration };
  }

  #figures(score: number | undefined): string[] {
    const best = this.#best;
    const { better, rejected, revisions } = this.#tally;
    const asText = apart([score, best?.score]);
    return [
      ...(best ? [`best ${asText(best.score)}`] : []),
      score === undefined ? 'rejected' : `return ${asText(score)}`,
      ...(rejected === 0 ? [] : [`${rejected} rejected`]),
      ...(revisions === 0 ? [] : [`${better} of ${plural(revisions, 'revision')} better`]),
    ];
  }
}

export const alertText = (event: Of<'warning' | 'fault'>): string =>
  warningText(event.kind === 'warning' ? event.message : `first fault “${event.fault}”: ${event.message}`);

/** Describes what the run waits for after the first stop request. */
export function waitingText({ seconds }: Extract<RunEvent, { kind: 'waiting' }>): string {
  const most =
    seconds === undefined ? 'without a time limit' : `for at most ${formatDuration(1000 * seconds)}`;
  return `waiting for the model's answer, ${most} (press Ctrl-C again to stop now; resuming repeats the request)`;
}

export const rateText = ({ seconds }: Extract<RunEvent, { kind: 'rate-limited' }>): string =>
  `waiting for the rate limit: ${formatDuration(1000 * seconds)}`;

interface Best {
  readonly score: number;
  readonly iteration: number;
}

const placeOf = ({ iteration }: Pick<Best, 'iteration'>) =>
  iteration === 0 ? 'warm-up' : `iteration ${iteration}`;

function usageFigures({ usage, caps }: Extract<RunEvent, { kind: 'iteration-finished' }>): string[] {
  const tokens = usage.promptTokens + usage.completionTokens;
  const faults = Object.values(usage.faults ?? {}).reduce((sum, count) => sum + count, 0);
  return [
    ...(tokens === 0 ? [] : [`${formatCompact(tokens)} tokens`]),
    ...(usage.cost === undefined ? [] : [`cost ${formatCost(usage.cost)}`]),
    ...(faults === 0 ? [] : [plural(faults, 'fault')]),
    ...(caps === undefined ? [] : [`limits: ${formatCaps(caps)}`]),
  ];
}
