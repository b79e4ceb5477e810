/** Estimates how large a difference between two mean returns must be to be more than luck. */
import { mean, standardDeviation } from './descriptive.js';
import { studentQuantile975 } from './distributions.js';

/** Number of best policies whose returns are pooled: enough for a stable estimate, few enough to resemble the best. */
export const nearBestCount = 5;

/** The variation, from episode to episode, of the difference between the returns of two policies. */
export interface Spread {
  /** Its standard deviation; 0 if the difference is the same in all episodes. */
  readonly deviation: number;
  /** Degrees of freedom of the estimate. */
  readonly degrees: number;
}

/**
 * Estimates the spread from a few of the best policies; undefined for fewer than two policies or episodes.
 * Pools the variances of the differences to the best one or, if the episodes differ (`paired: false`), of the returns.
 * @param evaluations returns of policies that act differently, over the same number of episodes each, best policy first
 */
export function spreadOf(evaluations: readonly (readonly number[])[], paired: boolean): Spread | undefined {
  const [best = [], ...others] = evaluations;
  if (best.length < 2 || others.length === 0) return undefined;
  const lists = paired ? others.map((own) => own.map((value, i) => value - best[i]!)) : evaluations;
  const variance = mean(lists.map((list) => standardDeviation(list) ** 2));
  return {
    deviation: Math.sqrt(paired ? variance : 2 * variance),
    degrees: lists.length * (best.length - 1),
  };
}

/** The difference that two equal policies exceed in 5% of comparisons over this number of episodes. */
export const noiseFloor = ({ degrees, deviation }: Spread, episodes: number): number =>
  (studentQuantile975(degrees) * deviation) / Math.sqrt(episodes);

/** Minimum number of episodes for a difference to reach the noise floor; infinite for a difference of 0. */
export function episodesToConfirm(difference: number, { degrees, deviation }: Spread): number {
  if (deviation === 0) return difference > 0 ? 1 : Number.POSITIVE_INFINITY;
  return Math.ceil(((studentQuantile975(degrees) * deviation) / difference) ** 2);
}
