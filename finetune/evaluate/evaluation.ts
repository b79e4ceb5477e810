/** The result of an evaluation (`evaluation.json`), and the figures of its runs. */

import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import type { Manifest } from '../../src/runs/manifest.js';
import { openLogs } from '../../src/runs/reader.js';
import { type RunSummary, summaryOf } from '../../src/runs/summary.js';
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import { loggedProposals, onlyProposals } from '../../src/web/report/data/proposals.js';
import type { ArmName, TrainedOn } from './arms.js';

/** A run of the plan in its current state. */
export interface EvaluatedRun {
  readonly experiment: string;
  readonly arm: ArmName;
  /** 0-based. */
  readonly repeat: number;
  /** Path relative to the evaluation's directory. */
  readonly path: string;
  /** Null if the run hasn't started. */
  readonly figures: RunFigures | null;
}

/** Whether the tuned model was trained in an environment; `transfer`: it wasn't. */
export type Familiarity = 'trained' | 'transfer' | 'unknown';

export type ArmSummaries = Readonly<Record<Metric, Summary | null>>;

export interface ArmDifference<D> {
  readonly of: ArmName;
  readonly against: ArmName;
  readonly metrics: Readonly<Record<Metric, D | null>>;
}

/** A comparison of two arms. Comparisons with the tuned model come first in a list. */
export type ArmComparison = ArmDifference<PairedComparison>;

export interface ExperimentResult {
  readonly name: string;
  readonly environment: string;
  readonly familiarity: Familiarity;
  /** Lowest and highest confirmed return of all runs; normalised returns map them to 0 and 1. */
  readonly range: readonly [number, number] | null;
  /** Range of possible episode returns; null if unbounded or unknown. */
  readonly returns: readonly [low: number | null, high: number | null];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/** Compares arms by one value per seed, the mean over the experiments; `confirmed` is the normalised return. */
export interface GroupResult {
  readonly group: 'all' | 'trained' | 'transfer';
  readonly experiments: readonly string[];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/** A failed run and its error message. */
export interface Failure {
  readonly arm: ArmName;
  /** Path relative to the evaluation's directory. */
  readonly run: string;
  readonly message: string;
}

/** Contents of `evaluation.json`. */
export interface Evaluation {
  readonly version: 1;
  readonly kind: 'evaluation';
  readonly policyloop: string;
  /** `incomplete` until all runs are over (`isOver`). */
  readonly status: 'completed' | 'incomplete';
  readonly arms: readonly {
    readonly name: ArmName;
    readonly label: string;
    readonly weights: string | null;
  }[];
  readonly seeds: readonly number[];
  readonly trainedOn: TrainedOn;
  readonly experiments: readonly ExperimentResult[];
  readonly groups: readonly GroupResult[];
  readonly failures: readonly Failure[];
  readonly runs: readonly EvaluatedRun[];
}

/** Number of tests of confirmed returns; their verdicts are corrected together. */
export const testedIn = (results: readonly Pick<GroupResult, 'comparisons'>[]) =>
  results.flatMap(({ comparisons }) => comparisons).filter(({ metrics }) => metrics.confirmed?.p != null)
    .length;

/** The metrics by which arms are compared; each has one value per run, or null. */
export const metrics = {
  confirmed: 'confirmed return',
  improvementRate: 'improvement rate',
  validFirst: 'valid at first',
  valid: 'valid after corrections',
} as const;
export type Metric = keyof typeof metrics;

export interface RunFigures extends Readonly<Record<Metric, number | null>> {
  readonly environment: string;
  readonly status: RunSummary['status'];
  /** True if the run is complete, or if no proposal was accepted, which counts as its model's result. */
  readonly isOver: boolean;
  /** Reason for the status, as text. */
  readonly reason: string;
  /** Highest mean return observed; optimistic, because it is the maximum of noisy returns. */
  readonly observed: number | null;
  readonly iterations: number;
  /** True if a target or a limit ended the run before its last iteration. */
  readonly stoppedEarly: boolean;
  /** Number of candidates requested. */
  readonly proposals: number;
  /** Number of candidates that got any answer from the model. */
  readonly answered: number;
  /** Number of candidates that beat all earlier evaluations. */
  readonly improvements: number;
  /** Number of first answers that were valid, but repeated an earlier policy. */
  readonly repeated: number;
  readonly evaluations: number;
  readonly tokens: number;
  readonly activeMs: number;
  /** Highest score so far after each iteration, starting with iteration 0. */
  readonly curve: readonly number[];
}

/**
 * Reads the figures of a run:
 * - `validFirst`: fraction of answered proposals whose first answer had the right format, including repeats.
 * - `valid`: fraction of answered proposals that were usable in the end, after corrections.
 * - `improvementRate`: fraction of all requested proposals that beat all earlier evaluations.
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

/**
 * The highest score up to each iteration, from iteration 0 on. The curve ends where the run ends; if the run stopped at
 * its target, the curve continues unchanged to `last`.
 */
function bestByIteration(
  {
    manifest,
    entries,
  }: {
    readonly manifest: Pick<Manifest, 'iterations' | 'reason'>;
    readonly entries: readonly Pick<BufferEntry, 'iteration' | 'score'>[];
  },
  last: number,
): readonly number[] {
  const until = manifest.reason?.kind === 'target' ? last : manifest.iterations.done;
  const best: number[] = [];
  let highest = Number.NEGATIVE_INFINITY;
  let next = 0;
  for (let iteration = 0; iteration <= until; iteration++) {
    for (; next < entries.length && entries[next]!.iteration <= iteration; next++) {
      highest = Math.max(highest, entries[next]!.score);
    }
    if (Number.isFinite(highest)) best.push(highest);
    // Without a warm-up, there is no score before the first evaluation, so the curve starts with that one's score.
    else if (next < entries.length) best.push(entries[next]!.score);
  }
  return best;
}
