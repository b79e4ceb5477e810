/** Which part of an episode's rewards each of its turns is credited with. */
import { largest } from '../../src/statistics/descriptive.js';
import { discountedReturns } from './advantages.js';
import type { Episode } from './learning/episode.js';

/**
 * The return of the whole episode; what comes after the turn, its own reward included (return to go); or an equal share of
 * the return, as LlamaGym has it.
 */
export const assignments = ['return', 'to-go', 'spread'] as const;
export type Assignment = (typeof assignments)[number];

/** The reward of each turn, with what it costs to name no action. */
export const turnRewards = ({ rewards, valid }: Episode, invalid: number): readonly number[] =>
  rewards.map((reward, turn) => reward + (valid[turn] === false ? invalid : 0));

/** The sum of the rewards in equal shares. */
export function spread(rewards: readonly number[]): readonly number[] {
  const share = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.map(() => share);
}

/**
 * What each turn of the episodes of a group is compared by: a list a turn with a value an episode, NaN for those that had
 * ended by then. A value is compared with those of the same turn.
 * @param rewards of each turn of each episode
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

/** A number for each token of all completions of an episode: that of the turn which it belongs to. */
export function perToken(
  { ends }: Pick<Episode, 'ends'>,
  ofTurn: (turn: number) => number,
): readonly number[] {
  return ends.flatMap((end, turn) =>
    Array<number>(end - (turn === 0 ? -1 : ends[turn - 1]!)).fill(ofTurn(turn)),
  );
}
