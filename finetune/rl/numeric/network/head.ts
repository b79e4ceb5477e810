/** The distribution over actions that a network's outputs stand for. Batches are flat: row after row. */
import type { Action } from '../../../../src/environments/environment.js';
import type { RandomGenerator } from '../../../../src/random/generator.js';

/** A change or a gradient: of the outputs [N × outputs], and of the head's own parameters. */
export interface HeadSlope {
  readonly outputs: Float64Array;
  readonly own: Float64Array;
}

/** Outputs [N × outputs] and own parameters: N distributions. */
export type Distributions = HeadSlope;

/**
 * A family of distributions over actions. `actions` are [N × width] numbers. All means are over the N rows; θ stands for
 * outputs and own parameters.
 */
export interface Head {
  /** Outputs that the network gives for each observation. */
  readonly outputs: number;
  /** Numbers that make an action. */
  readonly width: number;
  /** First values of the parameters that don't depend on the observation. */
  readonly initial: Float64Array;
  /** Draws an action of the first row. */
  sample(one: Distributions, random: RandomGenerator): Float64Array;
  /** The most probable action of the first row. */
  mode(one: Distributions): Float64Array;
  /** As the environment takes it. */
  toAction(values: Float64Array): Action;
  /** log π(a|s) [N] */
  logProbabilities(of: Distributions, actions: Float64Array): Float64Array;
  /** Gradient of Σ weights·log π(a|s). */
  slopeOfLogProbabilities(of: Distributions, actions: Float64Array, weights: Float64Array): HeadSlope;
  /** Mean entropy, in nats. */
  entropy(of: Distributions): number;
  slopeOfEntropy(of: Distributions): HeadSlope;
  /** Mean KL divergence of `after` from `before`, in nats. */
  divergence(before: Distributions, after: Distributions): number;
  /** The Hessian of the divergence at `after` = `before`, times a change. */
  fisher(of: Distributions, change: HeadSlope): HeadSlope;
}
