/** `evaluation.json`: what an evaluation found. */
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import type { ArmName, TrainedOn } from './arms.js';
import type { Metric, RunFigures } from './figures.js';

/** A run of the plan, as far as it has come. */
export interface EvaluatedRun {
  readonly experiment: string;
  readonly arm: ArmName;
  /** From 0. */
  readonly repeat: number;
  /** Path below the evaluation's directory. */
  readonly path: string;
  /** null for a run that has not begun. */
  readonly figures: RunFigures | null;
}

/** Where an environment stands to the training. */
export type Familiarity = 'trained' | 'transfer' | 'unknown';

export type ArmSummaries = Readonly<Record<Metric, Summary | null>>;

export interface ArmDifference<D> {
  readonly of: ArmName;
  readonly against: ArmName;
  readonly metrics: Readonly<Record<Metric, D | null>>;
}

/** Every two arms; the tuned model's own come first. */
export type ArmComparison = ArmDifference<PairedComparison>;

export interface ExperimentResult {
  readonly name: string;
  readonly environment: string;
  readonly familiarity: Familiarity;
  /** Lowest and highest confirmed return of any run of any arm: 0 and 1 of the normalised return. */
  readonly range: readonly [number, number] | null;
  /** What an episode can return; null where there is no bound, or none is known. */
  readonly returns: readonly [low: number | null, high: number | null];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/** Several experiments together, one value a seed: the mean over them; `confirmed` is the normalised return there. */
export interface GroupResult {
  readonly group: 'all' | 'trained' | 'transfer';
  readonly experiments: readonly string[];
  readonly arms: Readonly<Record<string, ArmSummaries>>;
  readonly comparisons: readonly ArmComparison[];
}

/** A run or an arm that could not be played. */
export interface Failure {
  readonly arm: ArmName;
  /** Path below the evaluation's directory. */
  readonly run: string;
  readonly message: string;
}

/** `evaluation.json`. */
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

/** Differences of confirmed return that a correction is over. */
export const testedIn = (results: readonly Pick<GroupResult, 'comparisons'>[]) =>
  results.flatMap(({ comparisons }) => comparisons).filter(({ metrics }) => metrics.confirmed?.p != null)
    .length;
