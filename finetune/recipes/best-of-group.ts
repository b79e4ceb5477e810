import type { Imitation } from '../example.js';
import type { Proposed, SourceRun, Step } from '../source-run.js';
import { imitate, improves } from './improvement.js';

export interface GroupTargets {
  /** How many of the best are imitated, each that beats the best so far with an example of its own. */
  readonly winners?: number | undefined;
  /**
   * How many iterations further the candidates count, too: an answer that later prompts led to is one that this prompt
   * could have had. Of several numbers each gives its winners, equal ones once. None further where it is left out.
   */
  readonly lookAhead?: readonly number[] | undefined;
}

/** Imitates the winner of each iteration's candidates, where it beats the best so far. */
export function bestOfGroup(
  run: SourceRun,
  { winners = 1, lookAhead = [0] }: GroupTargets = {},
): readonly Imitation[] {
  return run.steps.flatMap((step, first) => {
    const chosen = lookAhead.flatMap((further) => {
      const last = step.iteration + further;
      const candidates = run.steps
        .slice(first, first + further + 1)
        .flatMap(({ iteration, proposals }) => (iteration <= last ? proposals : []));
      return candidates
        .filter((proposed) => improves(proposed, step))
        .toSorted((a, b) => b.entry.score - a.entry.score)
        .slice(0, winners);
    });
    // A reason of a later iteration speaks of another history.
    return [...new Set(chosen)].map((proposed) =>
      imitate(
        run,
        'best-of-group',
        step,
        proposed.entry.iteration === step.iteration ? proposed : { ...proposed, reply: '' },
      ),
    );
  });
}

/** The candidate with the highest score, the first on ties. */
export function winner({ proposals }: Step): Proposed {
  return proposals.reduce((best, proposed) => (proposed.entry.score > best.entry.score ? proposed : best));
}
