/** Computes figures of a run's proposals from its calls and evaluations. */

import type { WholeRun } from '../../src/runs/logs.js';
import { mean } from '../../src/statistics/descriptive.js';

export interface ProposalFigures {
  readonly iterations: number;
  /** Iterations that evaluated a proposal. */
  readonly evaluated: number;
  readonly calls: number;
  /** Number of iterations whose first reply was accepted. */
  readonly first: number;
  /** Replies that repeat known parameters. */
  readonly repeats: number;
  /** Replies rejected for any other reason, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Proposals that beat the best evaluation before them. */
  readonly improving: number;
  /** Share of the random policies that a proposal beats, averaged over proposals; absent without proposals. */
  readonly beaten?: number;
  /** Wall time of all calls. */
  readonly seconds: number;
}

export function proposalFigures({ calls, entries }: Pick<WholeRun, 'calls' | 'entries'>): ProposalFigures {
  const failures: Record<string, number> = {};
  let [first, repeats, milliseconds] = [0, 0, 0];
  for (const { attempt, completion, outcome } of calls) {
    milliseconds += completion?.latencyMs ?? 0;
    if (outcome.kind === 'accepted') first += attempt === 0 ? 1 : 0;
    else {
      const reason = outcome.kind === 'rejected' ? outcome.failure.kind : outcome.error;
      if (reason === 'repeated') repeats++;
      else failures[reason] = (failures[reason] ?? 0) + 1;
    }
  }
  let [best, improving] = [Number.NEGATIVE_INFINITY, 0];
  for (const { iteration, score } of entries) {
    if (iteration > 0 && score > best) improving++;
    best = Math.max(best, score);
  }
  const random = entries.filter(({ iteration }) => iteration === 0).map(({ score }) => score);
  const beaten = entries.flatMap(({ iteration, score }) =>
    iteration === 0 ? [] : [random.filter((other) => score > other).length / random.length],
  );
  const iterations = Math.max(0, ...calls.map(({ iteration }) => iteration));
  return {
    iterations,
    evaluated: new Set(entries.filter(({ iteration }) => iteration > 0).map(({ iteration }) => iteration))
      .size,
    calls: calls.length,
    ...{ first, repeats, failures, improving },
    ...(beaten.length > 0 && { beaten: Math.round(1000 * mean(beaten)) / 1000 }),
    seconds: Math.round(milliseconds / 100) / 10,
  };
}

/** A finished run. */
export interface Row extends ProposalFigures {
  /** The model, or the baseline. */
  readonly with: string;
  /** The prompt set; `-` for a baseline. */
  readonly set: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Mean return of the best policy on 100 fresh episodes; absent if no proposal was accepted. */
  readonly return?: number;
}
