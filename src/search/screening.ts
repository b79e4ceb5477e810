/** Which of many proposals are evaluated: those from which a Gaussian process expects the most improvement. */
import type { ParameterVector } from '../policies/policy.js';
import type { Task } from './control.js';
import { createExpectedImprovement } from './gp.js';

/** Chooses among proposals, in whose order the chosen ones stay. */
export type Screening = <Proposal extends { readonly parameters: ParameterVector }>(
  task: Task,
  proposals: readonly Proposal[],
) => Promise<readonly Proposal[]>;

/**
 * Each one is chosen as if those before it had brought what is expected of them; the first of equals, as all are while
 * every return is alike. Depends on the arguments alone, so that a resumed run chooses the same ones.
 * @param count how many are chosen
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
