/** Turns the steps of a run into examples: selects the proposals to learn from and sets their weights. */
import { groupBy } from '../../src/base/grouped.js';
import { type CallRecord, callId, stageOf } from '../../src/runs/calls.js';
import { programFailureText } from '../../src/runs/failure-text.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import { type Example, type Imitation, type Preference, promptHash, type RunRecipe } from './example.js';
import {
  answerOf,
  candidateKey,
  encodingIn,
  formatAnswer,
  lineageOf,
  type Proposal,
  reasonIn,
  type SourceRun,
  type Step,
} from './source-run.js';
import { taskOf } from './yield.js';

export const exampleBuilders: Record<RunRecipe, (run: SourceRun, winners?: number) => readonly Example[]> = {
  improvement: improvementExamples,
  weighted: weightedExamples,
  preference: preferenceExamples,
  repair: repairExamples,
};

/** Imitates proposals that beat the best score in their prompt: per iteration, the `winners` best (default: all). */
export function improvementExamples(run: SourceRun, winners?: number): readonly Imitation[] {
  return run.steps.flatMap((step) => {
    const { best = Number.POSITIVE_INFINITY, proposals } = step;
    const improvements = proposals.filter(({ entry }) => entry.score > best);
    const chosen =
      winners === undefined
        ? improvements
        : improvements.toSorted((a, b) => b.entry.score - a.entry.score).slice(0, winners);
    return chosen.map((proposed) => toImitation(run, 'improvement', step, proposed));
  });
}

function toImitation(
  run: SourceRun,
  recipe: Exclude<RunRecipe, 'preference'>,
  step: Omit<Step, 'proposals'>,
  proposed: Proposal,
): Imitation {
  return {
    kind: 'imitation',
    prompt: step.prompt,
    completion: answerOf(run, proposed),
    weight: 1,
    lineage: { ...lineageOf(run, recipe, step), ...refOf(proposed.entry) },
  };
}

const refOf = ({ iteration, candidate, score }: Proposal['entry']) => ({ iteration, candidate, score });

/**
 * Pairs the winner of an iteration with each candidate that scored lower. A single candidate is compared with the first
 * one in the next step; this is fair because scores depend only on the parameters, not on the prompt.
 */
export function preferenceExamples(run: SourceRun): readonly Preference[] {
  return run.steps.flatMap((step, i) =>
    pairsIn(step, run.steps[i + 1]).map(([better, worse]) => preferencePair(run, step, better, worse)),
  );
}

function pairsIn({ proposals }: Step, next: Step | undefined): readonly (readonly [Proposal, Proposal])[] {
  const rivals = proposals.length > 1 ? proposals : [...proposals, ...(next?.proposals.slice(0, 1) ?? [])];
  const best = rivals.reduce((one, other) => (other.entry.score > one.entry.score ? other : one));
  return rivals.filter(({ entry }) => entry.score < best.entry.score).map((lower) => [best, lower] as const);
}

function preferencePair(run: SourceRun, step: Step, better: Proposal, worse: Proposal): Preference {
  // If only one reply had a reason, a model would learn to give (or omit) reasons, not to propose. A reason from
  // another iteration describes another history.
  const keepsReasons = [better, worse].every(
    ({ entry, reply }) => entry.iteration === step.iteration && reasonIn(reply) !== '',
  );
  const answer = ({ entry, reply }: Proposal) =>
    formatAnswer(entry.parameters, encodingIn(run), run.answerForm, keepsReasons ? reasonIn(reply) : '');
  return {
    kind: 'preference',
    prompt: step.prompt,
    chosen: answer(better),
    rejected: answer(worse),
    weight: 1,
    lineage: { ...lineageOf(run, 'preference', step), ...refOf(better.entry), rejected: refOf(worse.entry) },
  };
}

/** Largest weight, as in Peng et al. 2019, before weights are scaled to mean 1. */
const maxWeight = 20;

/** Imitates all proposals whose prompt names a best score; `weightByTask` sets their weights. */
export function weightedExamples(run: SourceRun): readonly Imitation[] {
  const steps = run.steps.filter(({ best }) => best !== undefined);
  return steps.flatMap((step) => step.proposals.map((one) => toImitation(run, 'weighted', step, one)));
}

/**
 * Sets the weights to exp(A), clipped at 20 and scaled to mean 1 (advantage-weighted regression, Peng et al. 2019). A
 * is the gain over the best score in the prompt, standardized over all runs of a task, so better proposers weigh more.
 */
export function weightByTask(examples: readonly Example[], runs: readonly SourceRun[]): readonly Example[] {
  const tasks = new Map(runs.map((run) => [run.name, taskOf(run)]));
  return [...groupBy(examples, ({ lineage }) => tasks.get(lineage.run)!).values()].flatMap((group) => {
    const weights = advantageWeights(group.map(({ lineage }) => lineage.score - lineage.incumbent!));
    return group.map((example, i) => ({ ...example, weight: weights[i]! }));
  });
}

/** Weights with mean 1, rounded to six significant digits so that all machines write the same text. */
export function advantageWeights(gains: readonly number[]): readonly number[] {
  const center = mean(gains);
  const sigma = standardDeviation(gains);
  const raw = gains.map((gain) => (sigma > 0 ? Math.min(maxWeight, Math.exp((gain - center) / sigma)) : 1));
  const average = mean(raw);
  return raw.map((weight) => Number((weight / average).toPrecision(6)));
}

/** Imitates accepted programs that correct a failed one. The prompt contains the failed program and its error. */
function repairExamples(run: SourceRun): readonly Imitation[] {
  const failures = new Map<string, string>();
  const steps = new Map(run.steps.map((step) => [step.iteration, step]));
  const examples: Imitation[] = [];
  for (const call of run.recorded.calls) {
    if (stageOf(call) !== 'proposal') continue;
    const failure = failureOf(call);
    if (failure !== undefined) failures.set(callId(call), failure);
    const repaired = failures.get(callId({ ...call, attempt: call.attempt - 1 }));
    const step = steps.get(call.iteration);
    // There is no proposal if the program failed during its evaluation.
    const proposed = step?.proposals.find(({ entry }) => candidateKey(entry) === candidateKey(call));
    if (call.outcome.kind !== 'accepted' || repaired === undefined || proposed === undefined) continue;
    const { messages: prompt, completion } = call;
    const promptTokens = completion?.usage.promptTokens;
    const repairStep = { ...step!, prompt, promptHash: promptHash(prompt), promptTokens };
    const example = toImitation(run, 'repair', repairStep, proposed);
    examples.push({ ...example, lineage: { ...example.lineage, repaired } });
  }
  return examples;
}

function failureOf({ outcome }: CallRecord): string | undefined {
  if (outcome.kind !== 'rejected' || outcome.failure.kind !== 'program') return undefined;
  return programFailureText(outcome.failure);
}
