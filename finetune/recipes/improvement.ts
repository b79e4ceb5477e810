import { formatAnswer, reasonIn } from '../answer.js';
import type { Imitation } from '../example.js';
import { lineageOf, type Proposed, type SourceRun, type Step } from '../source-run.js';

/** Imitates every proposal that scored above the best so far. */
export function improvement(run: SourceRun): readonly Imitation[] {
  return run.steps.flatMap((step) =>
    step.proposals
      .filter((proposed) => improves(proposed, step))
      .map((proposed) => imitate(run, 'improvement', step, proposed)),
  );
}

/** Whether a proposal scored above everything before its iteration; false where there was nothing. */
export function improves({ entry }: Proposed, { incumbent }: Step): boolean {
  return incumbent !== undefined && entry.score > incumbent.score;
}

/** A logged prompt with a proposal that answered it. */
export function imitate(
  run: SourceRun,
  recipe: 'improvement' | 'best-of-group' | 'weighted',
  step: Step,
  { entry, reply }: Proposed,
  weight = 1,
): Imitation {
  const { iteration, candidate, score, parameters } = entry;
  return {
    kind: 'imitation',
    prompt: step.prompt,
    completion: formatAnswer(parameters, run.family.parameters, run.answerFormat, reasonIn(reply)),
    weight,
    lineage: { ...lineageOf(run, recipe, step), iteration, candidate, score },
  };
}
