/** What one run says of its model. */

import { loggedProposals, onlyProposals } from '../../src/report/data/proposals.js';
import { bestByIteration } from '../../src/report/group-report.js';
import { factsOf, type RunFacts } from '../../src/runs/facts.js';
import { openLogs } from '../../src/runs/reader.js';

/** The measures that arms are compared by; each is a number a run, null where the run has none. */
export const metrics = {
  confirmed: 'confirmed return',
  improvementRate: 'improvement rate',
  validFirst: 'valid at first',
  valid: 'valid in the end',
} as const;
export type Metric = keyof typeof metrics;

export interface RunFigures extends Readonly<Record<Metric, number | null>> {
  readonly environment: string;
  readonly status: RunFacts['status'];
  /** Whether it came to its end: without an accepted proposal it has failed, which says something of its model. */
  readonly isOver: boolean;
  /** Why it is where it is, in words. */
  readonly reason: string;
  /** Highest mean return that was seen: selected on noise. */
  readonly observed: number | null;
  readonly iterations: number;
  /** Whether it ended before its last iteration: at a target, or at a limit. */
  readonly stoppedEarly: boolean;
  /** Candidates that were asked for. */
  readonly proposals: number;
  /** Those of them that the model gave any answer to. */
  readonly answered: number;
  /** Those that beat everything before them. */
  readonly improvements: number;
  /** First answers that only repeated what had been tried: in the format, but of no use. */
  readonly repeated: number;
  readonly evaluations: number;
  readonly tokens: number;
  readonly activeMs: number;
  /** Highest score up to each iteration, from 0. */
  readonly curve: readonly number[];
}

/**
 * Reads the run at `path`.
 *
 * `validFirst`: share of answered proposals whose first answer followed the format (a repetition does). `valid`: share
 * whose last answer could be used, after corrections. `improvementRate`: share of all proposals asked for that beat
 * everything before them, so that what was lost to the format counts against the model. `confirmed`: mean return of the
 * chosen policy on seeds that chose nothing.
 */
export function readFigures(path: string): RunFigures {
  const facts = factsOf(path);
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
