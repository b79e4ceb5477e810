/** The value function V(s): a separate perceptron, fitted by L-BFGS or by Adam steps. */

import { minimise } from '../../../../src/search/lbfgs.js';
import { dot } from '../../../../src/search/linear-algebra.js';
import type { NumericNetwork, Row } from '../network/network.js';
import type { Batch } from './batch.js';

export interface LbfgsFit {
  readonly iterations: number;
  /** Coefficient of Σ θ². */
  readonly l2: number;
}

/** Minimizes mean (V(s) − target)² + l2·Σ θ², as the public TRPO implementation does. */
export async function fitByLbfgs(
  network: NumericNetwork,
  theta: Float64Array,
  { observations, targets }: Batch,
  { iterations, l2 }: LbfgsFit,
): Promise<{ readonly theta: Float64Array; readonly loss: number }> {
  const { x, value } = await minimise(
    async (tried) => {
      const errors = (await network.forward(tried, observations)).map((v, i) => v - targets[i]!);
      const slope = await network.vectorJacobian(
        tried,
        observations,
        errors.map((error) => (2 * error) / errors.length),
      );
      return {
        value: dot(errors, errors) / errors.length + l2 * dot(tried, tried),
        slope: slope.map((part, i) => part + 2 * l2 * tried[i]!),
      };
    },
    theta,
    iterations,
  );
  return { theta: x, loss: value };
}

/** Inputs of the value loss for some steps. */
export interface ValueTargets {
  readonly observations: readonly Row[];
  readonly targets: Float64Array;
  /** V(s) before the update. */
  readonly values: Float64Array;
}

/**
 * Computes ½·mean squared error and its gradient. With a clip, each step counts the larger of its squared
 * error and that of the value clipped to ± clip around the previous one (as in OpenAI Baselines).
 */
export async function valueLoss(
  network: NumericNetwork,
  theta: Float64Array,
  { observations, targets, values }: ValueTargets,
  clip: number | undefined,
): Promise<{ readonly loss: number; readonly gradient: Float64Array }> {
  const now = await network.forward(theta, observations);
  let sum = 0;
  const slope = now.map((value, i) => {
    const error = value - targets[i]!;
    const before = values[i]!;
    const change = clip === undefined ? value - before : Math.min(clip, Math.max(-clip, value - before));
    const clipped = before + change - targets[i]!;
    const isClipped = clip !== undefined && clipped * clipped > error * error;
    sum += isClipped ? clipped * clipped : error * error;
    return isClipped && change !== value - before ? 0 : error / now.length;
  });
  return { loss: sum / (2 * now.length), gradient: await network.vectorJacobian(theta, observations, slope) };
}
