/** Turns what a run observed into groups of rewarded answers for the trainer. */
import type { ObservedAnswer, ObservedIteration } from '../../../src/experiment/learner.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { createGenerator, shuffled } from '../../../src/random/generator.js';
import { type Episode, episodeOf, type Group } from '../learning/episode.js';
import { type OpenedTerm, rewardsOf } from '../proposer/candidates.js';

/** The answers to one prompt with their rewards. */
export interface RewardedGroup {
  readonly episodes: Group;
  readonly rewards: readonly number[];
}

export interface Rewarding {
  readonly terms: readonly OpenedTerm[];
  /** Id of the environment. */
  readonly environment: string;
  /** If set, permutes the rewards within each group with this seed. */
  readonly shuffle: number | undefined;
  readonly encode: (messages: readonly ChatMessage[]) => readonly number[];
}

/** Skips prompts with a single answer, which has nothing to be compared with. */
export function rewardedGroups(
  { history, prompts }: ObservedIteration,
  { encode, environment, shuffle, terms }: Rewarding,
): readonly RewardedGroup[] {
  const random = shuffle === undefined ? undefined : createGenerator(shuffle);
  return prompts
    .filter(({ answers }) => answers.length > 1)
    .map(({ answers, messages }) => {
      const earned = rewardsOf({ history, candidates: answers, environment }, terms);
      const rewards = random === undefined ? earned : shuffled(earned, random);
      const promptIds = encode(messages);
      return {
        rewards,
        episodes: answers.map((answer, i) => episodeOfAnswer(promptIds, answer, rewards[i]!)),
      };
    });
}

function episodeOfAnswer(
  promptIds: readonly number[],
  { kind, sampled }: ObservedAnswer,
  reward: number,
): Episode {
  const { ids, allowed = ids.map(() => null) } = sampled;
  const reply = { ...sampled, promptIds, allowed };
  return episodeOf({ turns: [{ reply, reward, valid: kind === 'evaluated' }], truncated: false });
}
