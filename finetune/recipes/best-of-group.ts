import type { Imitation } from '../example.js';
import type { Proposed, SourceRun, Step } from '../source-run.js';
import { imitate, improves } from './improvement.js';

/**
 * Imitates the winner of each iteration's candidates, where it beats the best so far.
 * @param winners how many of the best are imitated, each that beats the best so far with an example of its own
 */
export function bestOfGroup(run: SourceRun, winners = 1): readonly Imitation[] {
  return run.steps.flatMap((step) =>
    step.proposals
      .filter((proposed) => improves(proposed, step))
      .toSorted((a, b) => b.entry.score - a.entry.score)
      .slice(0, winners)
      .map((proposed) => imitate(run, 'best-of-group', step, proposed)),
  );
}

/** The candidate with the highest score, the first on ties. */
export function winner({ proposals }: Step): Proposed {
  return proposals.reduce((best, proposed) => (proposed.entry.score > best.entry.score ? proposed : best));
}
