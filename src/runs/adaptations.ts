/** Sums up how the model was trained during a run, as figures and as text. */
import { formatDuration, formatNumber, plural } from '../format/numbers.js';
import { mean } from '../statistics/descriptive.js';
import type { Adaptation, LoggedEvent } from './events.js';

export interface AdaptationTotals {
  readonly updates: number;
  /** Optimizer steps. */
  readonly steps: number;
  readonly answers: number;
  /** Wall time of the updates. */
  readonly seconds: number;
  /** Standard deviation of the rewards within a group: mean over updates of each update's mean. */
  readonly spread: number;
  /** Mean over updates of the share of groups that taught nothing, because all their rewards were equal. */
  readonly flat: number;
  /** The last update with an optimizer step. */
  readonly last?: Adaptation;
}

export interface LoggedAdaptation extends Adaptation {
  readonly iteration: number;
}

export function adaptationsIn(events: Iterable<LoggedEvent>): readonly LoggedAdaptation[] {
  const found: LoggedAdaptation[] = [];
  for (const event of events)
    if (event.kind === 'iteration-finished' && event.adapted !== undefined)
      found.push({ iteration: event.iteration, ...event.adapted });
  return found;
}

export function adaptationTotals(adaptations: readonly Adaptation[]): AdaptationTotals | undefined {
  if (adaptations.length === 0) return undefined;
  const sum = (of: (one: Adaptation) => number) => adaptations.reduce((total, one) => total + of(one), 0);
  const last = adaptations.findLast(({ steps }) => steps > 0);
  return {
    updates: adaptations.length,
    steps: sum(({ steps }) => steps),
    answers: sum(({ answers }) => answers),
    seconds: sum(({ seconds }) => seconds),
    spread: mean(adaptations.map(({ spread }) => spread)),
    flat: mean(adaptations.map(({ flat }) => flat)),
    ...(last && { last }),
  };
}

/**
 * Example: `9 updates in 43 s of 2 min 4 s; standard deviation of rewards 0.32; equal rewards in 8 % of groups; …`.
 */
export function adaptationText(
  { flat, last, seconds, spread, updates }: AdaptationTotals,
  activeMs: number,
): string {
  const figures = [
    `${plural(updates, 'update')} in ${formatDuration(1000 * seconds)} of ${formatDuration(activeMs)}`,
    `standard deviation of rewards ${formatNumber(spread, 2)}`,
    `equal rewards in ${Math.round(100 * flat)} % of groups`,
    ...(last?.entropy === undefined ? [] : [`entropy ${formatNumber(last.entropy, 3)} nats per token`]),
    ...(last?.kl === undefined ? [] : [`KL divergence ${formatNumber(last.kl, 2)} nats per token`]),
  ];
  return figures.join('; ');
}
