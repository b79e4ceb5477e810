/** Selects which proposals to evaluate: those with the highest expected improvement under a Gaussian process. */
import type { ParameterVector } from '../policies/policy.js';
import type { Task } from './baseline.js';
import { createExpectedImprovement } from './gp.js';

/** Selects among proposals and keeps their order. */
export type Screening = <Proposal extends { readonly parameters: ParameterVector }>(
  task: Task,
  proposals: readonly Proposal[],
) => Promise<readonly Proposal[]>;

/**
 * Selects greedily, assuming that earlier picks give their expected results; the first wins ties, so while
 * all returns are equal the first ones are picked. A pure function of its arguments, so that a resumed run
 * selects the same proposals.
 * @param count number of proposals to select
 */
export function createScreening(count: number): Screening {
  const expected = createExpectedImprovement();
  return async (task, proposals) => {
    if (proposals.length <= count) return proposals;
    const { believe, worth } = await expected(task);
    const open = new Set(proposals);
    for (let chosen = 0; chosen < count; chosen++) {
      const [best] = [...open]
        .map((proposal) => ({ proposal, worth: worth(proposal.parameters) }))
        .toSorted((a, b) => b.worth - a.worth);
      open.delete(best!.proposal);
      believe(best!.proposal.parameters);
    }
    return proposals.filter((proposal) => !open.has(proposal));
  };
}
