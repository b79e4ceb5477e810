import type { Imitation } from '../example.js';
import type { Proposed, SourceRun, Step } from '../source-run.js';
import { imitate, improves } from './improvement.js';

/** Imitates the winner of each iteration's candidates, where it beats the best so far. */
export function bestOfGroup(run: SourceRun): readonly Imitation[] {
  return run.steps.flatMap((step) => {
    const best = winner(step);
    return improves(best, step) ? [imitate(run, 'best-of-group', step, best)] : [];
  });
}

/** The candidate with the highest score, the first on ties. */
export function winner({ proposals }: Step): Proposed {
  return proposals.reduce((best, proposed) => (proposed.entry.score > best.entry.score ? proposed : best));
}
