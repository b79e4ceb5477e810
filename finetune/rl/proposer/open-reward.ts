/** Loads the modules of a reward. */
import { basename } from 'node:path';
import { messageOf, UserError } from '../../../src/base/errors.js';
import { type CandidateReward, type RewardTerm, termsOf } from '../../../src/config/learning/reward.js';
import { loadModule, thrownIn } from '../../../src/modules/user-module.js';
import type { OpenedTerm, RewardModule } from './candidates.js';

/** @throws UserError if a module can't be imported or doesn't create a function */
export const openReward = (reward: CandidateReward): Promise<readonly OpenedTerm[]> =>
  Promise.all(termsOf(reward).map(opened));

async function opened(term: RewardTerm): Promise<OpenedTerm> {
  if (term.kind !== 'module') return term;
  const { file, create } = await loadModule(term.path, 'reward', 'reward.path');
  const made = await create({}, 'reward.path');
  if (typeof made !== 'function')
    throw new UserError({ file, message: 'create returned no reward function' });
  return { ...term, give: checked(file, made as RewardModule) };
}

/** Wraps a reward function; if it throws or returns anything but finite numbers, the error names its file. */
function checked(file: string, give: RewardModule): RewardModule {
  return (group) => {
    let rewards: unknown;
    try {
      rewards = give(group);
    } catch (error) {
      throw new UserError({
        ...thrownIn(file, error),
        message: `the reward function threw: ${messageOf(error)}`,
      });
    }
    const { length } = group.candidates;
    if (Array.isArray(rewards) && rewards.length === length && rewards.every(Number.isFinite))
      return rewards as readonly number[];
    throw new UserError({
      file,
      message: `${basename(file)} is to give ${length} candidates a finite number each`,
      value: rewards,
    });
  };
}
