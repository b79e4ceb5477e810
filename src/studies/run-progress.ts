import type { CommandContext } from '../base/context.js';
import {
  distinctFormat,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatInterval,
  formatReturn,
  plural,
} from '../base/text/numbers.js';
import { createProgress, type Progress, type ProgressMode, warningText } from '../base/text/progress.js';
import { type RunEvent, tallyOf } from '../runs/events.js';
import { floorText, formatCaps } from '../runs/summary.js';
import { mean } from '../statistics/descriptive.js';

/** Shows the progress of a run. */
export interface EventDisplay {
  show(event: RunEvent): void;
  close(): void;
}

/** Creates a display of a run or of games: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
export function createDisplay(
  mode: ProgressMode,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
  areGames = false,
): EventDisplay {
  const progress = createProgress(mode, context);
  const show = areGames ? gameDisplay(progress) : runDisplay(progress);
  return {
    show: (event) => (mode.json === true ? progress.emit(compactEvent(event)) : show(event)),
    close: () => progress.close(),
  };
}

/** Returns an event as `--json` prints it; trajectories, messages and replies stay in the run directory. */
function compactEvent(event: RunEvent): object {
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

/** Shows pauses and alerts. Of several alerts with the same `key`, it may show only the first. */
interface AlertDisplay extends Pick<Progress, 'pause'> {
  alert(text: string, key?: string): void;
}

/** Shows warnings, faults and pauses of a run. */
export function showTrouble(display: AlertDisplay, event: RunEvent): void {
  switch (event.kind) {
    case 'warning':
      display.alert(warningText(event.message), event.message.replaceAll(/\d+/g, '#'));
      break;
    case 'fault':
      display.alert(warningText(`${event.message} (fault ${event.fault})`), event.fault);
      break;
    case 'waiting':
      display.alert(waitingText(event));
      break;
    case 'rate-limited':
      display.pause(
        `waiting for the rate limit: ${formatDuration(1000 * event.seconds)}`,
        1000 * event.seconds,
      );
      break;
    case 'reading':
      display.pause(readingText(event), 0);
      break;
    default:
  }
}

const callsPerUpdate = 20;

function gameDisplay(progress: Progress): (event: RunEvent) => void {
  let [done, callCount] = [0, 0];
  /** Results of the games that this process has played. */
  const results: number[] = [];
  return (event) => {
    switch (event.kind) {
      case 'run-started':
        done = event.resumedAt ?? 0;
        progress.say(`${event.environment}, ${plural(event.iterations, 'game')}, ${event.model}`);
        progress.begin({ label: 'game', total: event.iterations, value: done });
        break;
      case 'call-finished':
        callCount++;
        if (callCount % callsPerUpdate === 0) progress.update(done, [`${formatCompact(callCount)} calls`]);
        break;
      case 'game-finished': {
        const { length, return: total, score } = event.game;
        results.push(score ?? total);
        const quantity = score === undefined ? 'return' : 'score';
        progress.update(++done, [`mean ${quantity} ${formatReturn(mean(results))}`, plural(length, 'step')]);
        break;
      }
      default:
        showTrouble(progress, event);
    }
  };
}

interface BestSoFar {
  readonly score: number;
  readonly iteration: number;
}

function runDisplay(progress: Progress): (event: RunEvent) => void {
  let [total, completed, confirmedCount] = [0, 0, 0];
  let isWarmingUp = false;
  /** True in the iteration of a local model's first prompt, which takes longest because nothing is cached yet. */
  let isReadingFirst: boolean | undefined;
  let tally = tallyOf([]);
  let best: BestSoFar | undefined;
  /** The best score that has been printed permanently, or was reached before this process resumed the run. */
  let shownBest: BestSoFar | undefined;

  const beginIterations = () =>
    progress.begin({ label: 'iteration', total, value: completed, lineSeconds: 0 });
  const updateBest = ({ score, iteration }: BestSoFar) => {
    if (best === undefined || score > best.score) best = { score, iteration };
  };
  /** On a terminal, the progress line is overwritten, so improvements are also printed permanently. */
  const printBest = () => {
    if (best === undefined || best === shownBest) return;
    const asText = distinctFormat([best.score, shownBest?.score]);
    const previous = shownBest === undefined ? '' : `, was ${asText(shownBest.score)}`;
    progress.keep(`${positionText(best)}  best ${asText(best.score)}${previous}`);
    shownBest = best;
  };
  const figuresOf = (score: number | undefined) => {
    const { better, rejected, revisions } = tally;
    const asText = distinctFormat([score, best?.score]);
    return [
      ...(best ? [`best ${asText(best.score)}`] : []),
      score === undefined ? 'rejected' : `return ${asText(score)}`,
      ...(rejected === 0 ? [] : [`${rejected} rejected`]),
      ...(revisions === 0 ? [] : [`${better} of ${plural(revisions, 'revision')} better`]),
    ];
  };

  return (event) => {
    switch (event.kind) {
      case 'run-started': {
        const { environment, model, parameters, resumedAt } = event;
        total = event.iterations;
        completed = (resumedAt ?? 1) - 1;
        best = event.best;
        shownBest = best;
        tally = event.tally ?? tally;
        const policyText = parameters === undefined ? 'programs' : `${parameters} parameters`;
        progress.say(`${environment}, ${policyText}, ${model}`);
        if (resumedAt !== undefined) progress.say(`resumed at iteration ${resumedAt}`);
        beginIterations();
        break;
      }
      case 'warmup-evaluated': {
        const { entry, of: total } = event;
        if (!isWarmingUp) progress.begin({ label: 'warm-up', total, value: entry.candidate });
        isWarmingUp = true;
        updateBest(entry);
        progress.update(entry.candidate + 1, figuresOf(entry.score));
        if (entry.candidate + 1 < total) break;
        printBest();
        beginIterations();
        break;
      }
      case 'candidate-evaluated':
        updateBest(event.entry);
        break;
      case 'proposal-rejected':
      case 'revised':
        tally = tallyOf([event], tally);
        break;
      case 'reading':
        isReadingFirst ??= true;
        showTrouble(progress, event);
        break;
      case 'iteration-finished':
        completed = event.iteration;
        printBest();
        if (isReadingFirst === true) {
          isReadingFirst = false;
          beginIterations();
        }
        progress.update(completed, [...figuresOf(event.score), ...usageFigures(event)]);
        break;
      case 'noise-measured':
        progress.say(`noise floor ${floorText(event.noise)}`);
        break;
      case 'confirmation-started': {
        const { budget, candidates, episodesEach } = event;
        const episodesText = `on ${plural(episodesEach, 'fresh episode')}`;
        progress.say(
          candidates === 1
            ? `confirming the best policy ${episodesText}`
            : `comparing the ${candidates} policies that may be the best, in at most ${plural(budget, 'fresh episode')}, then confirming the chosen one ${episodesText}`,
        );
        progress.begin({ label: 'confirmation', total: event.of, lineSeconds: 0 });
        break;
      }
      case 'confirmed': {
        const { ci95, mean, stage } = event.confirmation;
        progress.update(++confirmedCount, [
          `${stage === 'final' ? 'confirmed' : 'mean'} ${formatReturn(mean)}`,
          `95 % interval ${formatInterval(ci95)}`,
          positionText(event.confirmation),
        ]);
        break;
      }
      default:
        showTrouble(progress, event);
    }
  };
}

const positionText = ({ iteration }: Pick<BestSoFar, 'iteration'>) =>
  iteration === 0 ? 'warm-up' : `iteration ${iteration}`;

type EventOf<Kind extends RunEvent['kind']> = Extract<RunEvent, { readonly kind: Kind }>;

/** Describes what the run waits for after the first stop request. */
function waitingText({ seconds }: EventOf<'waiting'>): string {
  const limitText =
    seconds === undefined ? 'without a time limit' : `for at most ${formatDuration(1000 * seconds)}`;
  return `waiting for the model's reply, ${limitText} (press Ctrl-C again to stop now; resuming repeats the request)`;
}

const readingText = ({ read, of }: EventOf<'reading'>): string =>
  read < of
    ? `reading ${formatCount(of)} tokens of prompt, ${Math.floor((100 * read) / of)} % done`
    : `writing, after ${formatCount(of)} tokens of prompt`;

function usageFigures({ usage, caps }: EventOf<'iteration-finished'>): string[] {
  const tokens = usage.promptTokens + usage.completionTokens;
  const faultCount = Object.values(usage.faults ?? {}).reduce((sum, count) => sum + count, 0);
  return [
    ...(tokens === 0 ? [] : [`${formatCompact(tokens)} tokens`]),
    ...(usage.cost === undefined ? [] : [`cost ${formatCost(usage.cost)}`]),
    ...(faultCount === 0 ? [] : [plural(faultCount, 'fault')]),
    ...(caps === undefined ? [] : [`limits: ${formatCaps(caps)}`]),
  ];
}
