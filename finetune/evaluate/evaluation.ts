/** The result of an evaluation (`evaluation.json`), and the figures of its runs. */
import { openLogs } from '../../src/runs/reader.js';
import { summaryOf } from '../../src/runs/summary.js';
import type { SampleSummary } from '../../src/statistics/paired.js';
import type { GroupDifference } from '../../src/studies/comparison/comparability.js';
import { type ComparedRun, readComparedRun, withConfig } from '../../src/studies/comparison/compared-runs.js';
import type { PlanFailure } from '../../src/studies/schedule.js';
import { type LoggedAttempt, loggedProposals, skipRevisions } from '../../src/web/report/data/proposals.js';
import type { ArmName, TrainedEnvironments } from './arms.js';

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

/** `trained` if the tuned model was trained in the environment, `transfer` if it wasn't. */
export type Familiarity = 'trained' | 'transfer' | 'unknown';

export type ArmSummaries = Readonly<
  Record<Metric, Pick<SampleSummary, 'count' | 'mean' | 'meanInterval'> | null>
>;

interface ArmComparison {
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  /** Differences in confirmed return between arms, paired by seed; the tuned model's come first. */
  readonly differences: readonly GroupDifference[];
}

export interface ExperimentResult extends ArmComparison {
  readonly name: string;
  readonly environment: string;
  readonly familiarity: Familiarity;
  /** Lowest and highest confirmed return of all runs (null if none); normalised returns map them to 0 and 1. */
  readonly range: readonly [number, number] | null;
  /** Bounds of the possible episode returns; null where there is no bound or it is unknown. */
  readonly returns: readonly [low: number | null, high: number | null];
}

/** Compares arms by one value per seed, the mean over the experiments; `confirmed` is the normalised return. */
export interface GroupResult extends ArmComparison {
  readonly group: 'all' | 'trained' | 'transfer';
  readonly experiments: readonly string[];
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
  readonly trainedOn: TrainedEnvironments;
  readonly experiments: readonly ExperimentResult[];
  readonly groups: readonly GroupResult[];
  readonly failures: readonly PlanFailure[];
  readonly runs: readonly EvaluatedRun[];
}

/** Number of tests whose verdicts are corrected together. */
export const testCount = (results: readonly ArmComparison[]) =>
  results.flatMap(({ differences }) => differences).filter(({ p }) => p !== null).length;

/** The metrics of an arm; each has one value per run, or null. */
export const metrics = ['confirmed', 'improvementRate', 'validFirst', 'valid'] as const;
export type Metric = (typeof metrics)[number];

export interface RunFigures
  extends Readonly<Record<Metric, number | null>>,
    Pick<ComparedRun, 'status' | 'observed' | 'stoppedEarly' | 'curve'> {
  readonly environment: string;
  /** True if the run is complete, or failed because no proposal was accepted, which counts as its model's result. */
  readonly isOver: boolean;
  /** Reason for the status, as text. */
  readonly reason: string;
  /** Number of candidates requested. */
  readonly proposals: number;
  /** Number of candidates that got any reply from the model. */
  readonly answered: number;
  /** Number of candidates that beat all earlier evaluations. */
  readonly improvements: number;
  /** Number of first replies that were valid but repeated an earlier policy. */
  readonly repeated: number;
}

/**
 * Reads the figures of a run:
 * - `validFirst`: fraction of answered proposals whose first reply was valid, or only repeated an earlier policy.
 * - `valid`: fraction of answered proposals that were usable in the end, after corrections.
 * - `improvementRate`: fraction of all requested proposals that beat all earlier evaluations.
 * - `confirmed`: mean return of the chosen policy on seeds that weren't used to choose it.
 */
export function readFigures(path: string): RunFigures {
  const run = readComparedRun(withConfig(summaryOf(path)));
  const { confirmed, curve, ended, manifest, observed, status, stoppedEarly } = run;
  const logs = openLogs(path);
  const proposals = skipRevisions(loggedProposals(logs)).filter((one) => one.iteration <= logs.iteration);
  const isReply = ({ outcome }: LoggedAttempt) => outcome.kind !== 'error';
  const answeredProposals = proposals.filter(({ attempts }) => attempts.some(isReply));
  const firstReplies = answeredProposals.map(({ attempts }) => attempts.find(isReply)!);
  const repeated = firstReplies.filter(
    ({ outcome }) => outcome.kind === 'rejected' && outcome.failure.kind === 'repeated',
  ).length;
  const evaluated = answeredProposals.filter(({ entry }) => entry !== undefined);
  const acceptedCount = firstReplies.filter(({ outcome }) => outcome.kind === 'accepted').length;
  const improvements = proposals.filter(({ improved }) => improved).length;
  const shareOf = (count: number, total: number) => (total === 0 ? null : count / total);
  return {
    environment: manifest.environment,
    status,
    isOver: status === 'completed' || manifest.reason?.kind === 'no-proposals',
    reason: ended,
    confirmed: status === 'completed' ? (confirmed?.mean ?? null) : null,
    observed,
    improvementRate: shareOf(improvements, proposals.length),
    validFirst: shareOf(acceptedCount + repeated, answeredProposals.length),
    valid: shareOf(evaluated.length, answeredProposals.length),
    stoppedEarly,
    proposals: proposals.length,
    answered: answeredProposals.length,
    improvements,
    repeated,
    curve,
  };
}
