/** The candidates of one prompt, and what they earn: pure functions, for every place that learns from candidates. */

import type { RewardTerm } from '../../../src/config/learning/reward.js';
import type { ParseFailureKind } from '../../../src/prompting/answer/parse.js';
import type { Evaluated } from '../../../src/rollout/replay-buffer.js';
import { largest, smallest, standardDeviation } from '../../../src/statistics/descriptive.js';
import { type Episode, episodeOf } from '../learning/episode.js';
import type { SampledReply } from '../learning/reply.js';

/** One answer to a prompt, and what became of it. */
export type Candidate =
  | (Evaluated & {
      readonly kind: 'evaluated';
      readonly text: string;
      /** Return of each episode; all candidates of a run and its incumbent play the same ones. */
      readonly returns: readonly number[];
    })
  /** A reply that can't be read is data. */
  | { readonly kind: 'unreadable'; readonly text: string; readonly failure: ParseFailureKind };

/** The answers to one prompt. */
export interface CandidateGroup {
  /** The evaluations that the prompt's run remembered, oldest first. */
  readonly history: readonly Evaluated[];
  readonly candidates: readonly Candidate[];
  /** The environment's id. */
  readonly environment: string;
}

/** The reward of each candidate of a group, in their order. */
export type RewardModule = (group: CandidateGroup) => readonly number[];

/** A term of a reward, with the function of its module. */
export type OpenedTerm = RewardTerm & { readonly give?: RewardModule };

/** The weighted sum of the terms for each candidate. */
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
  const scores = candidates.flatMap((candidate) => (candidate.kind === 'evaluated' ? [candidate.score] : []));
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
      );
    }
    case 'return': {
      const share = ({ score }: Evaluated) => (score - term.low) / (term.high - term.low);
      return withInvalid(candidates, (one) => Math.min(1, Math.max(0, share(one))), term.invalid);
    }
    case 'rank':
      return withInvalid(candidates, ({ score }) => rankOf(score, scores), term.invalid);
  }
}

/** Mean place of equal scores, from 1/n for the lowest to 1 for the highest. */
function rankOf(score: number, scores: readonly number[]): number {
  const below = scores.filter((other) => other < score).length;
  const equal = scores.filter((other) => other === score).length;
  return (below + (equal + 1) / 2) / scores.length;
}

const spreadOf = (scores: readonly number[]) => (scores.length < 2 ? 0 : standardDeviation(scores));

/** A reply that can't be read earns `invalid`, and never more than the worst that can. */
function withInvalid(
  candidates: readonly Candidate[],
  rewardOf: (candidate: Candidate & { readonly kind: 'evaluated' }, index: number) => number,
  invalid: number,
): readonly number[] {
  const values = candidates.map((candidate, i) =>
    candidate.kind === 'evaluated' ? rewardOf(candidate, i) : undefined,
  );
  const worst = smallest([invalid, ...values.filter((value) => value !== undefined)]);
  return values.map((value) => value ?? worst);
}

/** A candidate as an episode of one turn. */
export function episodeOfCandidate(reply: SampledReply, candidate: Candidate, reward: number): Episode {
  const valid = candidate.kind === 'evaluated';
  return {
    ...episodeOf({ turns: [{ reply, reward, valid }], truncated: false }),
    ...(valid && { policyReturn: candidate.score }),
  };
}
