import { confirmationSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { openTask } from '../../src/rollout/task.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import type { Imitation, Preference, Recipe } from './example.js';
import {
  encodingIn,
  formatAnswer,
  lineageOf,
  type Proposed,
  placeKey,
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

export interface GroupTargets {
  /** How many of the best candidates to imitate, if they beat the best earlier score. Default: 1. */
  readonly winners?: number | undefined;
  /** How many iterations ahead to look for candidates; each number has its own winners. Default: [0]. */
  readonly lookAhead?: readonly number[] | undefined;
}

/** Imitates each iteration's winners if they beat the best so far, judged by re-evaluated returns if available. */
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
    // Omit the reason of a later iteration's answer, because it describes another history.
    return [...new Set(chosen)].map(({ entry, reply }) => {
      const own = entry.iteration === step.iteration;
      return imitate(run, 'best-of-group', step, { entry, reply: own ? reply : '' });
    });
  });
}

/** Maximum number of candidates to re-evaluate per iteration and look-ahead, unless `winners` is larger. */
const finalistCount = 4;

/** The best candidates of step `first` and the next `further` iterations that beat the best score before that step. */
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

/** Each iteration's finalists and the best entry before them, without duplicates. */
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

/**
 * Re-evaluates entries on fresh episodes, because the best of many owes its score partly to luck.
 * @returns mean returns by `placeKey`
 * @throws EnvironmentError if an external environment fails
 */
export async function playAgain(
  { config, family, manifest }: SourceRun,
  entries: readonly BufferEntry[],
  episodes: number,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlyMap<string, number>> {
  const { maxSteps, reward } = config.evaluation;
  const environment = await openTask(config.environment, reward, env, 1);
  const seeds = confirmationSeeds(manifest.seed, 'selection', episodes);
  const found = new Map<string, number>();
  try {
    for (const entry of entries) {
      const setting = { environment, family, maxSteps, record: 'none' } as const;
      const { score } = await evaluate(setting, entry.parameters, seeds);
      found.set(placeKey(entry), score);
    }
  } finally {
    await environment.close?.();
  }
  return found;
}
