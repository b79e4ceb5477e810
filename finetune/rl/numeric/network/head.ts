/** Action distributions parameterized by a network's outputs. Batches are stored flat, row by row. */
import type { Action } from '../../../../src/environments/environment.js';
import type { RandomGenerator } from '../../../../src/random/generator.js';

/** A change or gradient with respect to the outputs [N × outputs] and the head's own parameters. */
export interface HeadSlope {
  readonly outputs: Float64Array;
  readonly own: Float64Array;
}

/** Outputs [N × outputs] and own parameters of N distributions. */
export type Distributions = HeadSlope;

/** A family of distributions over actions. `actions` has [N × width] numbers; means are over the N rows. */
export interface Head {
  /** Number of network outputs per observation. */
  readonly outputs: number;
  /** Numbers per action. */
  readonly width: number;
  /** Initial values of the head's own parameters, which don't depend on the observation. */
  readonly initial: Float64Array;
  /** Samples an action from the first row. */
  sample(one: Distributions, random: RandomGenerator): Float64Array;
  /** The most probable action of the first row. */
  mode(one: Distributions): Float64Array;
  /** Converts an action to the environment's format. */
  toAction(values: Float64Array): Action;
  /** log π(a|s): [N] */
  logProbabilities(of: Distributions, actions: Float64Array): Float64Array;
  /** Gradient of Σ weights·log π(a|s). */
  slopeOfLogProbabilities(of: Distributions, actions: Float64Array, weights: Float64Array): HeadSlope;
  /** Mean entropy in nats. */
  entropy(of: Distributions): number;
  slopeOfEntropy(of: Distributions): HeadSlope;
  /** Mean of KL(before ‖ after) in nats. */
  divergence(before: Distributions, after: Distributions): number;
  /** Multiplies a change by the Hessian of the divergence at `after` = `before`. */
  fisher(of: Distributions, change: HeadSlope): HeadSlope;
}
