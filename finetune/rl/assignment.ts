/** Distributes an episode's rewards over its turns. */
import { largest } from '../../src/statistics/descriptive.js';
import { discountedReturns } from './advantages.js';
import type { Episode } from './learning/episode.js';

/**
 * - `return`: the return of the whole episode.
 * - `to-go`: the discounted rewards from the turn on, including its own.
 * - `spread`: an equal share of the discounted return, as in LlamaGym.
 */
export const assignments = ['return', 'to-go', 'spread'] as const;
export type Assignment = (typeof assignments)[number];

/** Reward of each turn; replies that name no action get `invalid` added. */
export const turnRewards = ({ rewards, valid }: Episode, invalid: number): readonly number[] =>
  rewards.map((reward, turn) => reward + (valid[turn] === false ? invalid : 0));

/** Splits the sum of the rewards into equal shares. */
export function spread(rewards: readonly number[]): readonly number[] {
  const share = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.map(() => share);
}

/**
 * Credits of the turns in a group, to be compared within each turn.
 * @param rewards per episode and turn
 * @returns one list per turn with one value per episode; NaN for episodes that ended earlier
 */
export function turnCredits(
  rewards: readonly (readonly number[])[],
  assignment: Exclude<Assignment, 'return'>,
  gamma: number,
): readonly (readonly number[])[] {
  const credits = rewards.map((own) =>
    assignment === 'to-go'
      ? discountedReturns(own, gamma)
      : spread(own.map((reward, turn) => gamma ** turn * reward)),
  );
  const longest = largest([0, ...credits.map(({ length }) => length)]);
  return Array.from({ length: longest }, (_, turn) => credits.map((own) => own[turn] ?? Number.NaN));
}

/** Expands a number per turn to one per token of an episode's completions. */
export function perToken(
  { ends }: Pick<Episode, 'ends'>,
  ofTurn: (turn: number) => number,
): readonly number[] {
  return ends.flatMap((end, turn) =>
    Array<number>(end - (turn === 0 ? -1 : ends[turn - 1]!)).fill(ofTurn(turn)),
  );
}
