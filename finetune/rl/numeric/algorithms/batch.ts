/** Computes advantages and value targets for a batch of episodes. */
import { generalisedAdvantages } from '../../advantages.js';
import { joined } from '../network/mlp.js';
import type { NumericNetwork, Row } from '../network/network.js';
import type { NumericEpisode } from './episodes.js';

/** Steps of whole episodes, concatenated. */
export interface Batch {
  /** Normalized observations, for the value function. */
  readonly observations: readonly Row[];
  /** Inputs of the policy network. */
  readonly inputs: readonly Row[];
  /** [N × width] */
  readonly actions: Float64Array;
  /** Standardized over the batch to mean 0 and standard deviation 1. */
  readonly advantages: Float64Array;
  /** V(s) before the update. */
  readonly values: Float64Array;
  /** Targets for V(s). */
  readonly targets: Float64Array;
}

export interface Discounts {
  /** γ */
  readonly discount: number;
  /** λ of GAE; called τ in the public TRPO implementation. */
  readonly lambda: number;
}

/** @param width numbers per action */
export async function makeBatch(
  episodes: readonly NumericEpisode[],
  width: number,
  value: { readonly network: NumericNetwork; readonly theta: Float64Array },
  discounts: Discounts,
): Promise<Batch> {
  const observations = episodes.flatMap((episode) => episode.observations);
  const values = await value.network.forward(value.theta, observations);
  const lastValues = await value.network.forward(
    value.theta,
    episodes.map(({ last }) => last),
  );
  const advantages = new Float64Array(values.length);
  let from = 0;
  for (const [i, { rewards, terminated }] of episodes.entries()) {
    const own = [...values.subarray(from, from + rewards.length)];
    // Truncation by a limit doesn't end the rewards that would have followed.
    const lastValue = terminated ? 0 : lastValues[i]!;
    advantages.set(generalisedAdvantages({ rewards, values: own, lastValue }, discounts).advantages, from);
    from += rewards.length;
  }
  return {
    observations,
    inputs: episodes.flatMap(({ inputs }) => inputs),
    actions: joined(
      episodes.flatMap(({ actions }) => actions),
      width,
    ),
    advantages: standardised(advantages),
    values,
    targets: advantages.map((advantage, i) => advantage + values[i]!),
  };
}

function standardised(values: Float64Array): Float64Array {
  const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, values.length - 1));
  return values.map((value) => (value - centre) / (deviation + 1e-8));
}
