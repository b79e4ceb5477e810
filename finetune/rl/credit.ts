/** Assigns advantages, and targets for a value head, to the tokens of episodes. */
import { createGenerator, shuffled } from '../../src/base/random/generator.js';
import { largest, sum } from '../../src/statistics/descriptive.js';
import type { RlExample } from '../train/objectives/sampled.js';
import type { advantageScales, ObjectiveSettings, PpoSettings } from '../train/objectives/settings.js';
import {
  discountedReturns,
  generalizedAdvantages,
  groupAdvantages,
  rlooAdvantages,
  standardize,
} from './advantages.js';
import type { Episode, Group, SampledSequence } from './learning/episode.js';

/** A sequence with the log-probabilities, values and reference log-probabilities computed before the update. */
export interface ScoredSequence extends SampledSequence {
  readonly oldLogp?: ArrayLike<number> | undefined;
  readonly oldValues?: ArrayLike<number> | undefined;
  readonly referenceLogp?: ArrayLike<number> | undefined;
}

export const rewardAssignments = ['return', 'to-go'] as const;

export interface RewardSettings {
  /** Discount factor per turn; 1 for PPO. */
  readonly gamma: number;
  /** Reward added for each reply without an action. */
  readonly invalid: number;
  readonly assignment: (typeof rewardAssignments)[number];
  /** True to permute the returns within each group. */
  readonly shuffle: boolean;
}

export interface CreditSettings {
  readonly objective: ObjectiveSettings;
  readonly advantages: (typeof advantageScales)[number];
  readonly reward: RewardSettings;
}

/**
 * Computes the advantages of all sequences. PPO uses its value head; other objectives compare the episodes of a group.
 * @param returns the return of each episode, by group
 * @param toScored adds the values computed before the update to a sequence
 */
export function assignCredit(
  groups: readonly Group[],
  returns: readonly (readonly number[])[],
  toScored: (sequence: SampledSequence) => ScoredSequence,
  { objective, advantages: scale, reward }: CreditSettings,
): readonly RlExample[] {
  if (objective.kind === 'ppo') return estimateAdvantages(groups.flat(), toScored, objective, reward.invalid);
  const penaltyOf = ({ sequences }: Episode) =>
    objective.kind === 'rloo' ? objective.kl * sum(trainedNumbers(sequences.map(toScored), logRatios)) : 0;
  const isPerTurn = reward.assignment === 'to-go';
  /** For each group, the values of its episodes at each turn, or one list of their returns. */
  const valueLists = groups.map((group, g) => {
    const penalties = group.map(penaltyOf);
    return (isPerTurn ? rewardsToGo(group, reward) : [returns[g]!]).map((values) =>
      values.map((value, i) => value - penalties[i]!),
    );
  });
  const advantageLists =
    objective.kind === 'rloo' ? rlooAdvantages(valueLists.flat()) : groupAdvantages(valueLists.flat(), scale);
  let start = 0;
  return groups.flatMap((group, g) => {
    const ownLists = advantageLists.slice(start, start + valueLists[g]!.length);
    start += ownLists.length;
    return group.flatMap((episode, i) =>
      isPerTurn
        ? splitBySequence(episode.sequences.map(toScored), {
            advantages: expandTurns(episode, (turn) => ownLists[turn]![i]!),
          })
        : episode.sequences.map((sequence) => ({ ...toScored(sequence), advantages: ownLists[0]![i]! })),
    );
  });
}

/** Rewards to go by turn and episode; NaN after an episode's last turn. */
function rewardsToGo(group: Group, { gamma, invalid }: RewardSettings): readonly (readonly number[])[] {
  const credits = group.map((episode) => discountedReturns(turnRewards(episode, invalid), gamma));
  const longest = largest([0, ...credits.map(({ length }) => length)]);
  return Array.from({ length: longest }, (_, turn) => credits.map((own) => own[turn] ?? Number.NaN));
}

/** Returns one number for each trained token of an episode. */
const trainedNumbers = (
  sequences: readonly ScoredSequence[],
  numbers: (sequence: ScoredSequence) => ArrayLike<number>,
): readonly number[] =>
  sequences.flatMap((one) => Array.from(numbers(one)).filter((_, token) => one.trained[token]!));

/** log π − log π_ref; 0 without a reference. */
const logRatios = ({ referenceLogp, samplerLogp, oldLogp = samplerLogp }: ScoredSequence) =>
  samplerLogp.map((_, token) => (referenceLogp === undefined ? 0 : oldLogp[token]! - referenceLogp[token]!));

/** Standardized GAE over trained tokens. A turn's reward goes to the last trained token up to the end of the turn. */
function estimateAdvantages(
  episodes: readonly Episode[],
  toScored: (sequence: SampledSequence) => ScoredSequence,
  objective: PpoSettings,
  invalid: number,
): readonly RlExample[] {
  const estimates = episodes.map((episode) => {
    const sequences = episode.sequences.map(toScored);
    const values = trainedNumbers(sequences, ({ oldValues }) => oldValues!);
    const rewards = trainedNumbers(sequences, logRatios).map((ratio) => -objective.kl * ratio);
    const rewardsByTurn = turnRewards(episode, invalid);
    episode.ends.forEach((end, turn) => {
      if (end > 0) rewards[end - 1]! += objective.rewardScale * rewardsByTurn[turn]!;
    });
    // The value after a truncation is unknown; the value before the last trained token approximates it.
    const lastValue = episode.truncated ? values.at(-1)! : 0;
    const advantages = generalizedAdvantages({ rewards, values, lastValue }, objective);
    return { sequences, advantages, returns: advantages.map((advantage, step) => advantage + values[step]!) };
  });
  const scaledAdvantages = standardize(estimates.map(({ advantages }) => advantages));
  return estimates.flatMap(({ sequences, returns }, e) =>
    splitBySequence(sequences, { advantages: scaledAdvantages[e]!, returns }),
  );
}

/** Splits an episode's advantages and returns, one per trained token, among its sequences; untrained tokens get 0. */
function splitBySequence(
  sequences: readonly ScoredSequence[],
  { advantages, returns }: { readonly advantages: readonly number[]; readonly returns?: readonly number[] },
): readonly RlExample[] {
  let start = 0;
  return sequences.map((sequence) => {
    let index = start;
    const indices = sequence.trained.map((isTrained) => (isTrained ? index++ : -1));
    start = index;
    const select = (numbers: readonly number[]) => indices.map((at) => numbers[at] ?? 0);
    return { ...sequence, advantages: select(advantages), ...(returns && { returns: select(returns) }) };
  });
}

/** Reward of each turn; `invalid` is added for replies without an action. */
const turnRewards = ({ rewards, valid }: Episode, invalid: number): readonly number[] =>
  rewards.map((reward, turn) => reward + (valid[turn] === false ? invalid : 0));

/** Expands one number per turn to one number per trained token of the episode. */
const expandTurns = ({ ends }: Pick<Episode, 'ends'>, ofTurn: (turn: number) => number): readonly number[] =>
  ends.flatMap((end, turn) => Array<number>(end - (ends[turn - 1] ?? 0)).fill(ofTurn(turn)));

/** Each episode's return, by group: Σ γᵗ·reward(t), plus `invalid` per invalid reply. `shuffle` permutes each group. */
export function returnsOf(
  groups: readonly Group[],
  { gamma, invalid, shuffle }: RewardSettings,
  seed: number,
): readonly (readonly number[])[] {
  const random = createGenerator(seed);
  return groups.map((group) => {
    const returns = group.map(({ rewards, valid }) => {
      const penalty = invalid * valid.filter((isValid) => !isValid).length;
      return discountedReturns(rewards, gamma)[0]! + penalty;
    });
    return shuffle ? shuffled(returns, random) : returns;
  });
}
