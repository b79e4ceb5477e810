import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import type { Imitation, Preference, Recipe } from './example.js';
import {
  encodingIn,
  formatAnswer,
  lineageOf,
  type Proposed,
  reasonIn,
  type SourceRun,
  type Step,
} from './source-run.js';

/** Imitates every proposal that scored higher than the best evaluation its prompt could show. */
export function improvement(run: SourceRun): readonly Imitation[] {
  return run.steps.flatMap((step) =>
    step.proposals
      .filter((proposed) => improves(proposed, step))
      .map((proposed) => imitate(run, 'improvement', step, proposed)),
  );
}

/** True if a proposal beats the best evaluation that its prompt could show; false if there was none. */
function improves({ entry }: Proposed, { incumbent }: Step): boolean {
  return incumbent !== undefined && entry.score > incumbent.score;
}

export function imitate(
  run: SourceRun,
  recipe: Exclude<Recipe, 'preference'>,
  step: Omit<Step, 'proposals'>,
  { entry, reply }: Proposed,
  weight = 1,
): Imitation {
  const { iteration, candidate, score, parameters } = entry;
  return {
    kind: 'imitation',
    prompt: step.prompt,
    completion: formatAnswer(parameters, encodingIn(run), run.answerForm, reasonIn(reply)),
    weight,
    lineage: { ...lineageOf(run, recipe, step), iteration, candidate, score },
  };
}

/** Imitates each iteration's winners: its `winners` best candidates, if they beat the best so far. */
export function bestOfGroup(run: SourceRun, winners = 1): readonly Imitation[] {
  return run.steps.flatMap((step) =>
    step.proposals
      .filter((proposed) => improves(proposed, step))
      .toSorted((a, b) => b.entry.score - a.entry.score)
      .slice(0, winners)
      .map((proposed) => imitate(run, 'best-of-group', step, proposed)),
  );
}

function winner({ proposals }: Step): Proposed {
  return proposals.reduce((best, proposed) => (proposed.entry.score > best.entry.score ? proposed : best));
}

/**
 * Pairs the winner of an iteration with each candidate that scored lower. A single candidate is paired with the next
 * iteration's first candidate. That is fair, because scores depend only on the parameters, not on the prompt.
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
  // If only one answer had a reason, a model would learn to give (or omit) reasons, not to propose. And a reason from
  // another iteration describes another history.
  const stated = [better, worse].every(
    ({ entry, reply }) => entry.iteration === step.iteration && reasonIn(reply) !== '',
  );
  const answer = ({ entry, reply }: Proposed) =>
    formatAnswer(entry.parameters, encodingIn(run), run.answerForm, stated ? reasonIn(reply) : '');
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

/** Largest weight, as in Peng et al. 2019, before weights are scaled to mean 1. */
const largestWeight = 20;

/**
 * Imitates all proposals except those before the first evaluation, with weights exp(A), clipped at 20 and scaled to
 * mean 1 (advantage-weighted regression, Peng et al. 2019). A is the gain over the best so far, standardized per run.
 */
export function weighted(run: SourceRun): readonly Imitation[] {
  const proposals = run.steps.flatMap((step) => {
    const { incumbent } = step;
    return incumbent === undefined
      ? []
      : step.proposals.map((proposed) => ({ step, proposed, gain: proposed.entry.score - incumbent.score }));
  });
  const weights = advantageWeights(proposals.map(({ gain }) => gain));
  return proposals.map(({ step, proposed }, i) => imitate(run, 'weighted', step, proposed, weights[i]!));
}

/** Weights with mean 1, rounded to six significant digits so that all machines write the same text. */
export function advantageWeights(gains: readonly number[]): readonly number[] {
  const centre = mean(gains);
  const spread = standardDeviation(gains);
  const raw = gains.map((gain) =>
    spread > 0 ? Math.min(largestWeight, Math.exp((gain - centre) / spread)) : 1,
  );
  const average = mean(raw);
  return raw.map((weight) => Number((weight / average).toPrecision(6)));
}
