import { messageOf, UserError } from '../../../src/base/errors.js';
import { loadModule, thrownIn } from '../../../src/base/modules/user-module.js';
import type { ParseFailureKind } from '../../../src/prompting/answer/failure.js';
import type { Evaluated } from '../../../src/rollout/replay-buffer.js';
import { largest, smallest, standardDeviation } from '../../../src/statistics/descriptive.js';
import type { SampledReply } from '../../engine/sampler.js';
import { type Episode, episodeOf } from '../learning/episode.js';
import { type CandidateReward, type RewardTerm, termsOf } from './candidate-reward.js';

/** An answer to a prompt, with its evaluation if it could be parsed. */
export type Candidate =
  | (Evaluated & {
      readonly kind: 'evaluated';
      readonly text: string;
      /** True if the run's history has the same parameters. */
      readonly repeats?: boolean;
      /** Return of each episode. All candidates of a run and the best policy before them play the same episodes. */
      readonly returns: readonly number[];
    })
  | { readonly kind: 'unreadable'; readonly text: string; readonly failure: ParseFailureKind };

export interface CandidateGroup {
  /** The evaluations that the run remembered at the time, oldest first. */
  readonly history: readonly Evaluated[];
  readonly candidates: readonly Candidate[];
  readonly environment: string;
}

/** Returns the reward of each candidate of a group, in order. */
type RewardModule = (group: CandidateGroup) => readonly number[];

/** A reward term, with its function if it comes from a module. */
export type OpenedTerm = RewardTerm & { readonly give?: RewardModule };

export function rewardsOf(group: CandidateGroup, terms: readonly OpenedTerm[]): readonly number[] {
  const values = terms.map((term) => valuesOf(group, term));
  return group.candidates.map((_, i) =>
    terms.reduce((sum, { weight }, term) => sum + weight * values[term]![i]!, 0),
  );
}

function valuesOf(group: CandidateGroup, term: OpenedTerm): readonly number[] {
  const { candidates, history } = group;
  if (term.kind === 'format') return candidates.map(({ kind }) => (kind === 'evaluated' ? 1 : 0));
  if (term.kind === 'module') {
    const given = term.give!(group);
    return withInvalid(candidates, (_, i) => given[i]!, term.invalid);
  }
  const isNew = (candidate: Candidate): candidate is Readable =>
    candidate.kind === 'evaluated' && candidate.repeats !== true;
  const scores = candidates.filter(isNew).map(({ score }) => score);
  switch (term.kind) {
    case 'improvement': {
      const before = history.map(({ score }) => score);
      const incumbent = before.length === 0 ? 0 : largest(before);
      const scale = term.scale === 'run' ? spreadOf(before) || spreadOf(scores) || 1 : term.scale;
      const gain = ({ score }: Evaluated) => (score - incumbent) / scale;
      return withInvalid(
        candidates,
        (candidate) => (term.gainsOnly ? Math.max(0, gain(candidate)) : gain(candidate)),
        term.invalid,
        isNew,
      );
    }
    case 'return': {
      const share = ({ score }: Evaluated) => (score - term.low) / (term.high - term.low);
      return withInvalid(candidates, (one) => Math.min(1, Math.max(0, share(one))), term.invalid);
    }
    case 'rank':
      return withInvalid(candidates, ({ score }) => rankOf(score, scores), term.invalid, isNew);
  }
}

/** Rank divided by n, from 1/n for the lowest score to 1 for the highest; ties get their mean rank. */
function rankOf(score: number, scores: readonly number[]): number {
  const below = scores.filter((other) => other < score).length;
  const equal = scores.filter((other) => other === score).length;
  return (below + (equal + 1) / 2) / scores.length;
}

const spreadOf = (scores: readonly number[]) => (scores.length < 2 ? 0 : standardDeviation(scores));

type Readable = Candidate & { readonly kind: 'evaluated' };

/**
 * Candidates that don't count get `invalid`, or the lowest reward of the others in the group if that is lower. For ranks
 * and gains, a repetition doesn't count: a run asks again for it, and otherwise copying the best policy would rank high.
 */
function withInvalid(
  candidates: readonly Candidate[],
  rewardOf: (candidate: Readable, index: number) => number,
  invalid: number,
  counts = (candidate: Candidate): candidate is Readable => candidate.kind === 'evaluated',
): readonly number[] {
  const values = candidates.map((candidate, i) => (counts(candidate) ? rewardOf(candidate, i) : undefined));
  const worst = smallest([invalid, ...values.filter((value) => value !== undefined)]);
  return values.map((value) => value ?? worst);
}

export function episodeOfCandidate(reply: SampledReply, candidate: Candidate, reward: number): Episode {
  const valid = candidate.kind === 'evaluated';
  return {
    ...episodeOf({ turns: [{ reply, reward, valid }], truncated: false }),
    ...(valid && { policyReturn: candidate.score }),
  };
}

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

/** Wraps a reward function and checks its results, so that errors name the file. */
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
      message: `the reward function must return ${length} finite numbers, one per candidate`,
      value: rewards,
    });
  };
}
