import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import { largest, mean } from '../../statistics/descriptive.js';
import type { LoggedProposal } from './proposals.js';

/** What a portfolio member contributed. */
export interface MemberFigures {
  readonly member: string;
  /** Number of candidates requested from it. */
  readonly candidates: number;
  /** Number of these that were evaluated. */
  readonly evaluated: number;
  /** Number of evaluations that beat all earlier ones. */
  readonly improved: number;
  /** Its share of all such evaluations, in [0, 1]; 0 if there are none. */
  readonly share: number;
  /** Mean and maximum of its scores; null if nothing was evaluated. */
  readonly mean: number | null;
  readonly best: number | null;
}

/** The portfolio members, ordered by number of new bests; empty if the run has no members. */
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

/** Returns who proposed an evaluation: a portfolio member or the critic. Undefined if there was no choice. */
export function makerOf(calls: Iterable<CallRecord>): (entry: BufferEntry) => string | undefined {
  const members = new Map<string, string>();
  for (const { candidate, iteration, member } of calls)
    if (member !== undefined) members.set(`${iteration}/${candidate}`, member);
  return ({ candidate, iteration, revises }) =>
    revises === undefined ? members.get(`${iteration}/${candidate}`) : 'critic';
}
