/** Pure functions that compute advantages from rewards. */

import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import type { advantageScales } from '../train/objectives/settings.js';

/** Added to standard deviations to avoid division by 0, as in TRL. */
const epsilon = 1e-4;

/** Rewards that are compared, e.g. of the replies to one prompt; NaN where there is none. */
export type RewardGroup = readonly number[];

/**
 * Rewards minus their group's mean (GRPO, arXiv 2402.03300), divided by the group's standard deviation + 1e-4
 * (`group`), by the whole batch's (`batch`), or not at all (`none`; Dr. GRPO, 2503.20783). Equal rewards give exactly
 * 0. Replies without a reward get advantage 0 and are otherwise ignored.
 */
export function groupAdvantages(
  groups: readonly RewardGroup[],
  scale: (typeof advantageScales)[number],
): readonly (readonly number[])[] {
  const batchDeviation = deviation(groups.flat());
  return groups.map((group) => {
    if (scale === 'none') return centerGroup(group);
    const divisor = (scale === 'group' ? deviation(group) : batchDeviation) + epsilon;
    return centerGroup(group).map((advantage) => advantage / divisor);
  });
}

/** Each reward minus the mean of the group's other rewards (RLOO, arXiv 2402.14740); 0 if there are no others. */
export function rlooAdvantages(groups: readonly RewardGroup[]): readonly (readonly number[])[] {
  return groups.map((group) => {
    const count = rewardsIn(group).length;
    return centerGroup(group).map((advantage) => (count < 2 ? 0 : (count / (count - 1)) * advantage));
  });
}

/** True if all rewards except NaN are equal, so that there is nothing to compare. */
export function isFlat(group: RewardGroup): boolean {
  const rewards = rewardsIn(group);
  return rewards.every((reward) => reward === rewards[0]);
}

/** Scales all values together to mean 0 and standard deviation 1; exactly 0 if they are all equal. */
export function standardize(values: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const all = values.flat();
  const center = centerOf(all);
  const divisor = Math.sqrt(deviation(all) ** 2 + 1e-8);
  return values.map((own) => own.map((value) => (value - center.first - center.rest) / divisor));
}

/** Σ γᵏ·r over the rewards from each step to the end. */
export function discountedReturns(rewards: readonly number[], discount: number): readonly number[] {
  const returns = [...rewards];
  for (let step = rewards.length - 2; step >= 0; step--)
    returns[step] = rewards[step]! + discount * returns[step + 1]!;
  return returns;
}

/** The rewards of an episode's steps, and the values of the states before them. */
interface EpisodeValues {
  readonly rewards: readonly number[];
  readonly values: readonly number[];
  /** Value of the state after the last step; 0 if the episode terminated. */
  readonly lastValue: number;
}

interface Discounts {
  readonly discount: number;
  readonly lambda: number;
}

/** GAE (Schulman et al. 2016, arXiv 1506.02438) over one episode: Σ (γλ)ᵏ·δ with δ = r + γ·V' − V. */
export function generalizedAdvantages(
  { rewards, values, lastValue }: EpisodeValues,
  { discount, lambda }: Discounts,
): readonly number[] {
  const advantages = new Array<number>(rewards.length);
  let nextAdvantage = 0;
  for (let step = rewards.length - 1; step >= 0; step--) {
    const nextValue = values[step + 1] ?? lastValue;
    nextAdvantage = rewards[step]! + discount * nextValue - values[step]! + discount * lambda * nextAdvantage;
    advantages[step] = nextAdvantage;
  }
  return advantages;
}

const rewardsIn = (group: RewardGroup): RewardGroup => group.filter((reward) => !Number.isNaN(reward));

/** Returns the mean as a sum of two numbers; subtracting one after the other turns equal values into exactly 0. */
function centerOf(values: readonly number[]): { readonly first: number; readonly rest: number } {
  const first = values[0] ?? 0;
  return { first, rest: mean(values.map((value) => value - first)) };
}

function centerGroup(group: RewardGroup): readonly number[] {
  const { first, rest } = centerOf(rewardsIn(group));
  return group.map((reward) => (Number.isNaN(reward) ? 0 : reward - first - rest));
}

/** Sample standard deviation (n − 1); exactly 0 for equal rewards. */
const deviation = (group: RewardGroup): number => standardDeviation(centerGroup(rewardsIn(group)));
