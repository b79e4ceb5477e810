/** Several proposers that share one replay buffer; each candidate comes from one drawn by weight. */
import { createGenerator } from '../../base/random/generator.js';
import { sum } from '../../statistics/descriptive.js';
import { parametersOf } from '../baseline-proposer.js';
import { joinProposals, type Proposals, type Proposer } from '../proposer.js';

interface Member {
  readonly name: string;
  readonly weight: number;
  readonly proposer: Proposer;
}

export function portfolioProposer(members: readonly Member[]): Proposer {
  const total = sum(members.map(({ weight }) => weight));
  const shares = members.map(({ weight }) => weight / total);
  // Baselines propose first, so a language model's proposals that repeat theirs can be corrected.
  const proposingOrder = members.toSorted((a, b) => Number(!!a.proposer.model) - Number(!!b.proposer.model));
  return {
    id: `portfolio(${members.map(({ proposer }) => proposer.id.replace(/^baseline\//, '')).join('+')})`,
    model: members.find(({ proposer }) => proposer.model)?.proposer.model,
    async propose(request) {
      const { siblings = [], candidates, seed } = request;
      const task = { ...request.task, shared: true };
      // A stream derived from the call's seed, but independent of the stream from which the member draws its proposal.
      const chosenMembers = candidates.map(
        (candidate) => members[createGenerator(seed(candidate, 0), [0]).categorical(shares)]!,
      );
      const parts: Proposals[] = [];
      for (const member of proposingOrder) {
        const ownCandidates = candidates.filter((_, i) => chosenMembers[i] === member);
        if (ownCandidates.length === 0) continue;
        const others = [...siblings, ...parametersOf(parts)];
        const part = { ...request, task, candidates: ownCandidates, member: member.name, siblings: others };
        const proposed = await member.proposer.propose(part);
        if (proposed.end?.kind === 'interrupted') return proposed;
        parts.push(proposed);
      }
      return joinProposals(parts);
    },
  };
}
