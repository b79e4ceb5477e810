/** Types of `evaluation.json`, the result of an evaluation. */
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import type { ArmName, TrainedOn } from './arms.js';
import type { Metric, RunFigures } from './figures.js';

/** A run of the plan in its current state. */
export interface EvaluatedRun {
  readonly experiment: string;
  readonly arm: ArmName;
  /** Zero-based. */
  readonly repeat: number;
  /** Path relative to the evaluation's directory. */
  readonly path: string;
  /** Null if the run hasn't started. */
  readonly figures: RunFigures | null;
}

/** Whether the tuned model was trained in an environment. */
export type Familiarity = 'trained' | 'transfer' | 'unknown';

export type ArmSummaries = Readonly<Record<Metric, Summary | null>>;

export interface ArmDifference<D> {
  readonly of: ArmName;
  readonly against: ArmName;
  readonly metrics: Readonly<Record<Metric, D | null>>;
}

/** A comparison for every pair of arms; those of the tuned model come first. */
export type ArmComparison = ArmDifference<PairedComparison>;

export interface ExperimentResult {
  readonly name: string;
  readonly environment: string;
  readonly familiarity: Familiarity;
  /** Lowest and highest confirmed return of all runs; mapped to 0 and 1 in normalized returns. */
  readonly range: readonly [number, number] | null;
  /** Range of possible episode returns; null where unbounded or unknown. */
  readonly returns: readonly [low: number | null, high: number | null];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/**
 * Several experiments combined: one value per seed, the mean over the experiments. `confirmed` is the
 * normalized return.
 */
export interface GroupResult {
  readonly group: 'all' | 'trained' | 'transfer';
  readonly experiments: readonly string[];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/** A run or an arm that could not be played. */
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
  /** `incomplete` while runs are missing. */
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

/** Number of differences in confirmed return that the correction for multiple tests covers. */
export const testedIn = (results: readonly Pick<GroupResult, 'comparisons'>[]) =>
  results.flatMap(({ comparisons }) => comparisons).filter(({ metrics }) => metrics.confirmed?.p != null)
    .length;
