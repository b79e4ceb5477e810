import { formatAnswer, reasonIn } from '../answer.js';
import type { Preference } from '../example.js';
import { lineageOf, type Proposed, type SourceRun, type Step } from '../source-run.js';
import { winner } from './best-of-group.js';

/**
 * Pairs of answers to one prompt, the one with the higher score chosen. Of several candidates the winner is set
 * against each that scored lower. A single candidate is set against the run's next proposal, which the prompt does
 * not know either: a score belongs to the parameters, whatever they were proposed from.
 */
export function preference(run: SourceRun): readonly Preference[] {
  return run.steps.flatMap((step, i) =>
    pairs(step, run.steps[i + 1]).map(([better, worse]) => pair(run, step, better, worse)),
  );
}

function pairs(step: Step, next: Step | undefined): readonly (readonly [Proposed, Proposed])[] {
  const best = winner(step);
  if (step.proposals.length > 1) {
    return step.proposals
      .filter(({ entry }) => entry.score < best.entry.score)
      .map((lower) => [best, lower] as const);
  }
  const rival = next?.proposals[0];
  if (rival === undefined || rival.entry.score === best.entry.score) return [];
  return [rival.entry.score < best.entry.score ? [best, rival] : [rival, best]];
}

function pair(run: SourceRun, step: Step, better: Proposed, worse: Proposed): Preference {
  // With one reason only, a model would learn to give reasons (or none), not to propose. A reason of another
  // iteration speaks of another history.
  const stated = [better, worse].every(
    ({ entry, reply }) => entry.iteration === step.iteration && reasonIn(reply) !== '',
  );
  const answer = ({ entry, reply }: Proposed) =>
    formatAnswer(entry.parameters, run.family.parameters, run.answerFormat, stated ? reasonIn(reply) : '');
  return {
    kind: 'preference',
    prompt: step.prompt,
    chosen: answer(better),
    rejected: answer(worse),
    weight: 1,
    lineage: { ...lineageOf(run, 'preference', step), ...place(better), rejected: place(worse) },
  };
}

const place = ({ entry: { iteration, candidate, score } }: Proposed) => ({ iteration, candidate, score });
