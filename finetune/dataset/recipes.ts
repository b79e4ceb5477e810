import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import type { Imitation, Preference, Recipe } from './example.js';
import {
  formatAnswer,
  lineageOf,
  type Proposed,
  placeKey,
  reasonIn,
  type SourceRun,
  type Step,
  tellingIn,
} from './source-run.js';

/** Imitates every proposal that scored above the best so far. */
export function improvement(run: SourceRun): readonly Imitation[] {
  return run.steps.flatMap((step) =>
    step.proposals
      .filter((proposed) => improves(proposed, step))
      .map((proposed) => imitate(run, 'improvement', step, proposed)),
  );
}

/** Whether a proposal scored above everything before its iteration; false where there was nothing. */
function improves({ entry }: Proposed, { incumbent }: Step): boolean {
  return incumbent !== undefined && entry.score > incumbent.score;
}

/** A prompt with the parameters of an evaluation as its answer. */
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
    completion: formatAnswer(parameters, tellingIn(run), run.answerForm, reasonIn(reply)),
    weight,
    lineage: { ...lineageOf(run, recipe, step), iteration, candidate, score },
  };
}

/** The candidates that best-of-group imitates. */
export interface GroupTargets {
  /** How many of the best are imitated, each that beats the best so far with an example of its own; default 1. */
  readonly winners?: number | undefined;
  /**
   * How many iterations ahead candidates count, too: an answer that later prompts led to is one that this prompt could
   * have had. Each number gives its winners, equal ones once; default 0.
   */
  readonly lookAhead?: readonly number[] | undefined;
}

/**
 * Imitates the winner of each iteration's candidates, where it beats the best so far. With `run.playedAgain` the returns
 * of those episodes decide among the finalists, and a finalist that does not beat the best so far there is none.
 */
export function bestOfGroup(
  run: SourceRun,
  { winners = 1, lookAhead = [0] }: GroupTargets = {},
): readonly Imitation[] {
  const { playedAgain } = run;
  const scoreOf = ({ iteration, candidate, score }: BufferEntry) =>
    playedAgain?.get(placeKey({ iteration, candidate })) ?? score;
  return run.steps.flatMap((step, first) => {
    const chosen = lookAhead.flatMap((further) =>
      finalists(run, first, further, playedAgain === undefined ? winners : Math.max(winners, finalistCount))
        .filter(({ entry }) => scoreOf(entry) > scoreOf(step.incumbent!))
        .toSorted((a, b) => scoreOf(b.entry) - scoreOf(a.entry))
        .slice(0, winners),
    );
    // The reason of a later iteration describes another history.
    return [...new Set(chosen)].map(({ entry, reply }) => {
      const own = entry.iteration === step.iteration;
      return imitate(run, 'best-of-group', step, { entry, reply: own ? reply : '' });
    });
  });
}

/** How many candidates of an iteration are played again. */
const finalistCount = 4;

/** The highest candidates of the iterations up to `further` after the one at `first` that beat the best before it. */
function finalists({ steps }: SourceRun, first: number, further: number, count: number): readonly Proposed[] {
  const step = steps[first]!;
  const last = step.iteration + further;
  return steps
    .slice(first, first + further + 1)
    .flatMap(({ iteration, proposals }) => (iteration <= last ? proposals : []))
    .filter((proposed) => improves(proposed, step))
    .toSorted((a, b) => b.entry.score - a.entry.score)
    .slice(0, count);
}

/** What best-of-group wants to know better: the finalists of each iteration, and the best before them; each once. */
export function toPlayAgain(
  run: SourceRun,
  { winners = 1, lookAhead = [0] }: GroupTargets = {},
): readonly BufferEntry[] {
  const entries = run.steps.flatMap(({ incumbent }, first) => {
    const found = lookAhead.flatMap((further) =>
      finalists(run, first, further, Math.max(winners, finalistCount)),
    );
    return found.length === 0 ? [] : [incumbent!, ...found.map(({ entry }) => entry)];
  });
  return [...new Map(entries.map((entry) => [placeKey(entry), entry])).values()];
}

/** The candidate with the highest score, the first on ties. */
function winner({ proposals }: Step): Proposed {
  return proposals.reduce((best, proposed) => (proposed.entry.score > best.entry.score ? proposed : best));
}

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
  // With one reason only, a model would learn to give reasons (or none), not to propose. The reason of another
  // iteration describes another history.
  const stated = [better, worse].every(
    ({ entry, reply }) => entry.iteration === step.iteration && reasonIn(reply) !== '',
  );
  const answer = ({ entry, reply }: Proposed) =>
    formatAnswer(entry.parameters, tellingIn(run), run.answerForm, stated ? reasonIn(reply) : '');
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

/** The largest factor before scaling, as in the source below. */
const largestWeight = 20;

/**
 * Imitates every proposal, the better ones more: weight exp(A), at most 20 (advantage-weighted regression, Peng et al.
 * 2019). The advantage A is how far the score lies above the best so far, standardised over the run, so that returns
 * of different environments compare. The weights of a run are scaled to a mean of 1.
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

/** Six significant digits: enough for a loss, and the same text on every machine. */
export function advantageWeights(gains: readonly number[]): readonly number[] {
  const centre = mean(gains);
  const spread = standardDeviation(gains);
  const raw = gains.map((gain) =>
    spread > 0 ? Math.min(largestWeight, Math.exp((gain - centre) / spread)) : 1,
  );
  const average = mean(raw);
  return raw.map((weight) => Number((weight / average).toPrecision(6)));
}
