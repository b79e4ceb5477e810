/** Reinforcement learning: sample groups → rewards → advantages → update → evaluate. */
import { deriveSeeds } from '../../src/base/random/generator.js';
import { isSampled } from '../../src/runs/training/samples.js';
import { largest, mean, smallest, standardDeviation } from '../../src/statistics/descriptive.js';
import {
  bestParameters,
  type CheckpointOwner,
  initialState,
  keepBest,
  readCheckpoint,
  type TrainingState,
} from '../engine/checkpoint.js';
import type { Sampler } from '../engine/sampler.js';
import { type Parameter, parameterCount } from '../engine/training-session.js';
import type { EvaluationResult, PolicyStep, TrainingEvent } from '../train/events.js';
import { runLoop, type TrainingEnding, type TrainingHooks } from '../train/loop.js';
import type { PolicyObjective } from '../train/objectives/sampled.js';
import { isFlat } from './advantages.js';
import { assignCredit, type RewardSettings, returnsOf } from './credit.js';
import { runUpdate, scoreBeforeUpdate, type UpdateSessions } from './improvement.js';
import type { Group, RlTask } from './learning/episode.js';
import type { LearningSettings } from './learning/settings.js';

/** Settings for agents and proposers, in a common form. */
export type OnlineSettings = LearningSettings & {
  /** Starting states or, for proposers, runs in flight per update; `groupSize` is the number of episodes for each. */
  readonly groups: number;
  readonly groupSize: number;
  readonly reward: RewardSettings;
  readonly evaluation: { readonly every: number; readonly episodes: number };
};

export interface OnlineLearning {
  readonly task: RlTask;
  readonly sampler: Sampler;
  readonly sessions: UpdateSessions;
  readonly objective: PolicyObjective;
  /** Initial values. Training updates them in place unless it resumes from a checkpoint. */
  readonly parameters: readonly Parameter[];
  /** Parameters of the reference for the KL penalty; undefined if there is none. */
  readonly reference: readonly Parameter[] | undefined;
  readonly settings: OnlineSettings;
  /** Initial state or, if training resumes, the checkpoint's state. */
  readonly state: TrainingState;
  readonly checkpoint: string;
  readonly owner: CheckpointOwner;
}

export interface OnlineHooks extends TrainingHooks {
  /** Name of the measured quantity, recorded in the start event. Default: mean return. */
  readonly measured?: string | undefined;
  /** A monotonic clock in milliseconds. */
  milliseconds?(): number;
}

export interface OnlineOutcome {
  /** The parameters of the result; `chosenEvaluation` is their evaluation, unless training was interrupted. */
  readonly parameters: readonly Parameter[];
  readonly chosenEvaluation: Pick<EvaluationResult, 'step' | 'meanReward'> | undefined;
  readonly step: number;
  readonly ended: TrainingEnding;
  readonly best: Pick<EvaluationResult, 'step' | 'meanReward'> | undefined;
  /** The last evaluation; undefined if there was none in this session. */
  readonly last: EvaluationResult | undefined;
  /** Result with new seeds (for proposers, in fresh runs of the held-out tasks); undefined if interrupted. */
  readonly confirmed: { readonly meanReward: number; readonly episodes: number } | undefined;
}

/** First spawn keys of the random streams. */
const streams = { starts: 10, samples: 11, permutation: 12, heldOut: [13, 14], fresh: [15, 16] } as const;

/** Reads the checkpoint if it exists, and reports the start. @throws UserError if it belongs to another run */
export function startLearning(
  run: Pick<OnlineLearning, 'checkpoint' | 'owner' | 'parameters' | 'settings'>,
  hooks: OnlineHooks,
): TrainingState {
  const { groups, groupSize, updates: totalSteps } = run.settings;
  const { checkpoint, owner, parameters } = run;
  const state = readCheckpoint(checkpoint, parameters, owner.identity) ?? initialState(parameters);
  hooks.onEvent?.({
    kind: 'start',
    step: state.step,
    totalSteps,
    parameters: parameterCount(parameters),
    episodes: groups * groupSize,
    ...(hooks.measured !== undefined && { measured: hooks.measured }),
    best: bestOf(state),
  });
  return state;
}

/** Trains until the last update, a limit or an interruption. @throws UserError if it diverges or memory runs out */
export async function learnOnline(run: OnlineLearning, hooks: OnlineHooks = {}): Promise<OnlineOutcome> {
  const { checkpoint, owner, settings, state, task } = run;
  const { checkpointEvery, evaluation, updates: totalSteps } = settings;
  if (state.progress !== undefined) await task.progress?.restore(state.progress);
  const report = (event: TrainingEvent) => hooks.onEvent?.(event);
  let last: EvaluationResult | undefined;
  const evaluationEvent = async (): Promise<TrainingEvent> => {
    const { best, episodes, ...figures } = await evaluate(run, state, hooks);
    last = figures;
    return { kind: 'evaluation', ...figures, episodes, best };
  };
  if (state.step === 0) {
    if (task.baselines !== undefined) hooks.onBaselines?.();
    for (const baseline of (await task.baselines?.(startsOf(run, streams.heldOut[0]))) ?? [])
      report({ kind: 'baseline', step: 0, ...baseline });
    report(await evaluationEvent());
  }
  const ended = await runLoop(
    {
      state,
      totalSteps,
      evaluateEvery: evaluation.every,
      checkpointEvery,
      checkpoint,
      owner,
      step: () => playAndLearn(run, state, hooks),
      evaluate: evaluationEvent,
      progress: () => task.progress?.save(),
    },
    hooks,
  );
  if (last === undefined && ended !== 'interrupted') report(await evaluationEvent());
  const best = bestOf(state);
  const result =
    settings.result === 'last'
      ? { parameters: state.parameters, chosenEvaluation: last }
      : { parameters: bestParameters(state), chosenEvaluation: best };
  const { groups, groupSize } = settings;
  let confirmed: OnlineOutcome['confirmed'];
  if (ended !== 'interrupted') {
    const { values: returns } = await measureParameters(run, result.parameters, streams.fresh);
    const episodes = state.step * groups * groupSize;
    report({ kind: 'final', step: result.chosenEvaluation?.step ?? state.step, episodes, returns });
    confirmed = { meanReward: mean(returns), episodes: returns.length };
  }
  return { ...result, step: state.step, ended, best, last, confirmed };
}

const startsOf = ({ settings: { evaluation, seed } }: OnlineLearning, stream: number) =>
  deriveSeeds(seed, [stream], evaluation.episodes);

/** Plays with these parameters; the streams determine starts and samples. */
function measureParameters(
  run: OnlineLearning,
  parameters: readonly Parameter[],
  [starts, samples]: readonly [number, number],
) {
  const { sampler, settings, task } = run;
  sampler.refresh(parameters);
  return task.measure(sampler, startsOf(run, starts), deriveSeeds(settings.seed, [samples], 1)[0]!);
}

/** The checkpoint stores the best mean reward as a loss, so its sign is reversed. */
const bestOf = ({ best }: TrainingState) => best && { step: best.step, meanReward: -best.loss };

async function playAndLearn(
  run: OnlineLearning,
  state: TrainingState,
  { milliseconds = () => 0 }: OnlineHooks,
): Promise<PolicyStep> {
  const { sampler, settings, task } = run;
  const { groups: groupCount, groupSize, seed, updates: totalSteps } = settings;
  const { step } = state;
  const seedOf = (stream: number) => deriveSeeds(seed, [stream, step], 1)[0]!;
  const startMs = milliseconds();
  sampler.refresh(state.parameters);
  const groups = await task.play(
    sampler,
    deriveSeeds(seed, [streams.starts, step], groupCount),
    groupSize,
    seedOf(streams.samples),
  );
  const samplingSeconds = (milliseconds() - startMs) / 1000;
  const figures = await learnFrom(run, state, groups, seedOf(streams.permutation));
  return { kind: 'step', step: state.step, totalSteps, samplingSeconds, ...figures };
}

/** Updates `state` in place; `shuffleSeed` is the seed for shuffling returns. @throws UserError as `runUpdate` does */
export async function learnFrom(
  { objective, reference, sessions, settings }: Omit<OnlineLearning, 'task'>,
  state: TrainingState,
  groups: readonly Group[],
  shuffleSeed: number,
) {
  const returns = returnsOf(groups, settings.reward, shuffleSeed);
  const allSequences = groups.flat().flatMap(({ sequences }) => sequences);
  const addOldValues = await scoreBeforeUpdate(sessions, state.parameters, allSequences, reference, settings);
  const sequences = assignCredit(groups, returns, addOldValues, settings);
  const updateFigures = await runUpdate(sessions, objective, state, sequences, settings);
  state.step++;
  return { ...episodeStatistics(groups, returns), ...updateFigures };
}

/** Computes the statistics that are reported with an update. */
export function episodeStatistics(groups: readonly Group[], returns: readonly (readonly number[])[]) {
  const episodes = groups.flat();
  const replyCount = episodes.reduce((sum, { rewards }) => sum + rewards.length, 0);
  const policyReturns = episodes.flatMap(({ policyReturn }) => policyReturn ?? []);
  const sampledTokens = episodes.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    reward: mean(returns.flat()),
    lowest: smallest(returns.flat()),
    highest: largest(returns.flat()),
    spread: mean(returns.map((group) => standardDeviation(group))),
    flat: mean(returns.map((group) => (isFlat(group) ? 1 : 0))),
    valid: mean(episodes.flatMap(({ valid }) => valid.map(Number))),
    ...(policyReturns.length > 0 && { policyReturn: mean(policyReturns) }),
    turns: replyCount / episodes.length,
    replyTokens: sampledTokens / replyCount,
    sampledTokens,
  };
}

/** Evaluates on the same held-out starts each time. Keeps the weights if no earlier evaluation was better. */
async function evaluate(
  run: OnlineLearning,
  state: TrainingState,
  hooks: OnlineHooks,
): Promise<EvaluationResult & { readonly best: boolean; readonly episodes: number }> {
  const { step } = state;
  const { evaluation } = run.settings;
  const { episodes } = evaluation;
  const { samples, values, ...figures } = await measureParameters(run, state.parameters, streams.heldOut);
  const meanReward = mean(values);
  const isBest = keepBest(state, -meanReward, true);
  const margin = episodes < 2 ? 0 : (1.96 * standardDeviation(values)) / Math.sqrt(episodes);
  if (isSampled(step / evaluation.every)) hooks.onSamples?.(step, samples);
  return { step, meanReward, margin, ...figures, episodes, best: isBest };
}
