/** Computes advantages and value targets for a batch of episodes. */
import { minimize } from '../../../../src/proposers/lbfgs.js';
import { dot } from '../../../../src/proposers/linear-algebra.js';
import { generalizedAdvantages } from '../../advantages.js';
import { concatRows, type NumericNetwork, type Row } from '../network/network.js';
import type { NumericEpisode } from './episodes.js';

export interface NumericBatch {
  /** Normalized. */
  readonly observations: readonly Row[];
  /** [N × width] */
  readonly actions: Float64Array;
  /** Standardized over the batch to mean 0 and standard deviation 1. */
  readonly advantages: Float64Array;
  /** V(s) before the update. */
  readonly values: Float64Array;
  readonly targets: Float64Array;
}

interface Discounts {
  /** γ */
  readonly discount: number;
  /** λ of GAE; called τ in Kostrikov's pytorch-trpo. */
  readonly lambda: number;
}

export async function makeNumericBatch(
  episodes: readonly NumericEpisode[],
  value: { readonly network: NumericNetwork; readonly theta: Float64Array },
  discounts: Discounts,
): Promise<NumericBatch> {
  const observations = episodes.flatMap((episode) => episode.observations);
  const values = await value.network.forward(value.theta, observations);
  const lastValues = await value.network.forward(
    value.theta,
    episodes.map(({ lastObservation }) => lastObservation),
  );
  const advantages = new Float64Array(values.length);
  let from = 0;
  for (const [i, { rewards, terminated }] of episodes.entries()) {
    const episodeValues = [...values.subarray(from, from + rewards.length)];
    // The state at a time limit isn't terminal, so bootstrap from its value.
    const lastValue = terminated ? 0 : lastValues[i]!;
    advantages.set(generalizedAdvantages({ rewards, values: episodeValues, lastValue }, discounts), from);
    from += rewards.length;
  }
  return {
    observations,
    actions: concatRows(episodes.flatMap(({ actions }) => actions)),
    advantages: standardize(advantages),
    values,
    targets: advantages.map((advantage, i) => advantage + values[i]!),
  };
}

function standardize(values: Float64Array): Float64Array {
  const center = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squareSum = values.reduce((sum, value) => sum + (value - center) ** 2, 0);
  const deviation = Math.sqrt(squareSum / Math.max(1, values.length - 1));
  return values.map((value) => (value - center) / (deviation + 1e-8));
}

/** Minimizes mean (V(s) − target)² + l2·Σ θ², as Kostrikov's pytorch-trpo does. */
export async function fitByLbfgs(
  network: NumericNetwork,
  theta: Float64Array,
  { observations, targets }: NumericBatch,
  { iterations, l2 }: { readonly iterations: number; readonly l2: number },
): Promise<{ readonly theta: Float64Array; readonly loss: number }> {
  const { x, value } = await minimize(
    async (candidate) => {
      const errors = (await network.forward(candidate, observations)).map((v, i) => v - targets[i]!);
      const lossGradient = await network.vectorJacobian(
        candidate,
        observations,
        errors.map((error) => (2 * error) / errors.length),
      );
      return {
        value: dot(errors, errors) / errors.length + l2 * dot(candidate, candidate),
        gradient: lossGradient.map((part, i) => part + 2 * l2 * candidate[i]!),
      };
    },
    theta,
    iterations,
  );
  return { theta: x, loss: value };
}

/**
 * Computes ½·mean squared error and its gradient. With `clip`, each step has two errors: with its value, and with the
 * value clipped to ± `clip` around the previous one; the larger square counts (as in OpenAI Baselines).
 */
export async function valueLoss(
  network: NumericNetwork,
  theta: Float64Array,
  { observations, targets, values }: Pick<NumericBatch, 'observations' | 'targets' | 'values'>,
  clip: number | undefined,
): Promise<{ readonly loss: number; readonly gradient: Float64Array }> {
  const predictions = await network.forward(theta, observations);
  let sum = 0;
  const outputGradient = predictions.map((value, i) => {
    const error = value - targets[i]!;
    const oldValue = values[i]!;
    const change = clip === undefined ? value - oldValue : Math.min(clip, Math.max(-clip, value - oldValue));
    const clippedError = oldValue + change - targets[i]!;
    const isClipped = clip !== undefined && clippedError * clippedError > error * error;
    sum += isClipped ? clippedError * clippedError : error * error;
    return isClipped && change !== value - oldValue ? 0 : error / predictions.length;
  });
  const gradient = await network.vectorJacobian(theta, observations, outputGradient);
  return { loss: sum / (2 * predictions.length), gradient };
}
