/** Discounted returns of episodes, optionally permuted as a control experiment. */
import { createGenerator, shuffled } from '../../src/random/generator.js';
import { discountedReturns } from './advantages.js';
import type { Group } from './learning/episode.js';

export interface RewardSettings {
  /** Discount factor per turn. */
  readonly gamma: number;
  /** Added for each reply that names no action. */
  readonly invalid: number;
  /** If true, permutes the returns within each group. */
  readonly shuffle: boolean;
}

/**
 * Return of each episode of each group: Σ γᵗ·reward(t), plus `invalid` for each invalid reply.
 * @param seed seed of the permutation
 */
export function returnsOf(
  groups: readonly Group[],
  { gamma, invalid, shuffle }: RewardSettings,
  seed: number,
): readonly (readonly number[])[] {
  const random = createGenerator(seed);
  return groups.map((group) => {
    const returns = group.map(({ rewards, valid }) => {
      const costs = invalid * valid.filter((isValid) => !isValid).length;
      return discountedReturns(rewards, gamma)[0]! + costs;
    });
    return shuffle ? shuffled(returns, random) : returns;
  });
}
