/** What episodes earn: discounted returns, and their permutation as a control. */
import { createGenerator, shuffled } from '../../src/random/generator.js';
import { discountedReturns } from './advantages.js';
import type { Group } from './learning/episode.js';

export interface RewardSettings {
  /** Discount for each turn that a reward lies ahead. */
  readonly gamma: number;
  /** Added for each reply that names no action. */
  readonly invalid: number;
  /** Whether returns are permuted within each group. */
  readonly shuffle: boolean;
}

/**
 * The return of each episode of each group, from its first turn: Σ γᵗ·reward(t), and what invalid replies cost.
 * @param seed of the permutation
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
