/** Reads the figures of a single run. */

import { loggedProposals, onlyProposals } from '../../src/report/data/proposals.js';
import { bestByIteration } from '../../src/report/group-report.js';
import { openLogs } from '../../src/runs/reader.js';
import { summaryOf, type RunSummary } from '../../src/runs/summary.js';

/** The metrics that arms are compared by. Each is one number per run; null if the run has none. */
export const metrics = {
  confirmed: 'confirmed return',
  improvementRate: 'improvement rate',
  validFirst: 'valid at first',
  valid: 'valid in the end',
} as const;
export type Metric = keyof typeof metrics;

export interface RunFigures extends Readonly<Record<Metric, number | null>> {
  readonly environment: string;
  readonly status: RunSummary['status'];
  /**
   * True if the run has ended. A run without any accepted proposal failed, but that is a result of its model,
   * so it counts as over.
   */
  readonly isOver: boolean;
  /** Description of why the run has its status. */
  readonly reason: string;
  /** Highest mean return observed; selected on noise. */
  readonly observed: number | null;
  readonly iterations: number;
  /** True if the run ended before its last iteration, at a target or a limit. */
  readonly stoppedEarly: boolean;
  /** Number of candidates requested. */
  readonly proposals: number;
  /** Number of them that got any answer from the model. */
  readonly answered: number;
  /** Number of them that beat everything before. */
  readonly improvements: number;
  /** Number of first answers that were valid but repeated earlier parameters. */
  readonly repeated: number;
  readonly evaluations: number;
  readonly tokens: number;
  readonly activeMs: number;
  /** Highest score up to each iteration, starting with iteration 0. */
  readonly curve: readonly number[];
}

/**
 * Reads the figures of the run at `path`:
 * - `validFirst`: fraction of answered proposals whose first answer had the right format, including
 *   repetitions.
 * - `valid`: fraction of answered proposals that were usable in the end, after corrections.
 * - `improvementRate`: fraction of all requested proposals that beat everything before, so format failures
 *   count against the model.
 * - `confirmed`: mean return of the chosen policy on seeds that weren't used to choose it.
 */
export function readFigures(path: string): RunFigures {
  const facts = summaryOf(path);
  const { manifest, status } = facts;
  const { entries, calls, iteration } = openLogs(path);
  const counted = onlyProposals(loggedProposals({ entries, calls })).filter(
    (proposal) => proposal.iteration <= iteration,
  );
  const answered = counted.filter(({ attempts }) => attempts.some(({ outcome }) => outcome.kind !== 'error'));
  const first = answered.map(({ attempts }) => attempts.find(({ outcome }) => outcome.kind !== 'error')!);
  const repeated = first.filter(
    ({ outcome }) => outcome.kind === 'rejected' && outcome.failure.kind === 'repeated',
  ).length;
  const accepted = first.filter(({ outcome }) => outcome.kind === 'accepted').length;
  const improvements = counted.filter(({ improved }) => improved).length;
  const share = (count: number, of: number) => (of === 0 ? null : count / of);
  return {
    environment: manifest.environment,
    status,
    isOver: status === 'completed' || manifest.reason?.kind === 'no-proposals',
    reason: facts.ended,
    confirmed: status === 'completed' ? (facts.confirmed?.mean ?? null) : null,
    observed: facts.observed,
    improvementRate: share(improvements, counted.length),
    validFirst: share(accepted + repeated, answered.length),
    valid: share(answered.filter(({ entry }) => entry !== undefined).length, answered.length),
    iterations: manifest.iterations.done,
    stoppedEarly: facts.stoppedEarly,
    proposals: counted.length,
    answered: answered.length,
    improvements,
    repeated,
    evaluations: entries.length,
    tokens: facts.tokens,
    activeMs: manifest.activeMs,
    curve: bestByIteration({ manifest, entries }, manifest.iterations.of),
  };
}
