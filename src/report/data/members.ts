import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import { largest, mean } from '../../statistics/descriptive.js';
import type { LoggedProposal } from './proposals.js';

/** What a member of a portfolio contributed. */
export interface MemberFigures {
  readonly member: string;
  /** Candidates that it was asked for. */
  readonly candidates: number;
  /** Those of them that were evaluated. */
  readonly evaluated: number;
  /** Evaluations that passed all before them. */
  readonly improved: number;
  /** The part of all such evaluations, 0 to 1; 0 where there are none. */
  readonly share: number;
  /** Mean and highest of its scores; null where nothing was evaluated. */
  readonly mean: number | null;
  readonly best: number | null;
}

/** The members of a portfolio, most new bests first; none where the run has no members. */
export function memberFigures(proposals: readonly LoggedProposal[]): readonly MemberFigures[] {
  const all = proposals.filter(({ improved, member }) => improved && member !== undefined).length;
  const names = new Set(proposals.flatMap(({ member }) => member ?? []));
  const figures = [...names].map((member): MemberFigures => {
    const own = proposals.filter((proposal) => proposal.member === member);
    const scores = own.flatMap(({ entry }) => entry?.score ?? []);
    const improved = own.filter((proposal) => proposal.improved).length;
    return {
      ...{ member, candidates: own.length, evaluated: scores.length, improved },
      share: all === 0 ? 0 : improved / all,
      mean: scores.length === 0 ? null : mean(scores),
      best: scores.length === 0 ? null : largest(scores),
    };
  });
  return figures.toSorted((a, b) => b.improved - a.improved || (a.member < b.member ? -1 : 1));
}

/** Who made an evaluation, where several could: a member of a portfolio, or the critic. */
export function makerOf(calls: Iterable<CallRecord>): (entry: BufferEntry) => string | undefined {
  const members = new Map<string, string>();
  for (const { candidate, iteration, member } of calls)
    if (member !== undefined) members.set(`${iteration}/${candidate}`, member);
  return ({ candidate, iteration, revises }) =>
    revises === undefined ? members.get(`${iteration}/${candidate}`) : 'critic';
}
