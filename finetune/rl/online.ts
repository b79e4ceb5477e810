/** Reinforcement learning: sample groups → rewards → advantages → update → evaluate. Read this file first. */
import { createHash } from 'node:crypto';
import { deriveSeeds } from '../../src/random/generator.js';
import { isSampled, type Sample } from '../../src/runs/training/samples.js';
import { largest, mean, smallest, standardDeviation } from '../../src/statistics/descriptive.js';
import {
  bestParameters,
  type CheckpointOwner,
  freshState,
  keepBest,
  readCheckpoint,
  type TrainingState,
  writeCheckpoint,
} from '../engine/checkpoint.js';
import type { Sampler } from '../engine/sampler.js';
import type { Parameter } from '../engine/training-session.js';
import type { PolicyObjective } from '../train/objectives/sampled.js';
import { isFlat } from './advantages.js';
import { type CreditSettings, credited, type RewardSettings, returnsOf } from './credit.js';
import type { Evaluated, RlEvent, RlEventOf } from './events.js';
import { AlarmWatch } from './events.js';
import { type ImprovementSettings, improve, readBefore, type Sessions, stepsOf } from './improvement.js';
import type { Group, RlTask } from './learning/episode.js';

export interface OnlineSettings {
  readonly seed: number;
  readonly updates: number;
  /** Starting states per update; `groupSize` is the number of episodes from each. */
  readonly groups: number;
  readonly groupSize: number;
  readonly reward: RewardSettings;
  readonly credit: CreditSettings;
  readonly improvement: ImprovementSettings;
  readonly evaluateEvery: number;
  readonly evaluationEpisodes: number;
  readonly checkpointEvery: number;
  /** Which weights are the result: those of the best evaluation, or the last ones. */
  readonly result: 'best' | 'last';
}

export interface OnlineLearning {
  readonly task: RlTask;
  readonly sampler: Sampler;
  readonly sessions: Sessions;
  readonly objective: PolicyObjective;
  /** Initial values. Training updates them in place unless it resumes from a checkpoint. */
  readonly parameters: readonly Parameter[];
  /** Parameters of the reference for the KL penalty; undefined if there is none. */
  readonly reference: readonly Parameter[] | undefined;
  readonly settings: OnlineSettings;
  readonly checkpoint: string;
  readonly owner: CheckpointOwner;
}

export interface OnlineHooks {
  onEvent?(event: RlEvent): void;
  /** Receives the samples of some evaluations, each time before the evaluation's event. */
  onSamples?(step: number, samples: readonly Sample[]): void;
  /** What evaluations measure; recorded in the start event. Default: mean return. */
  readonly measured?: string | undefined;
  /** A monotonic clock in milliseconds. */
  milliseconds?(): number;
  /** Returns the updates of earlier sessions, because alarms consider the whole run. Called after the start event. */
  earlier?(): readonly RlEventOf<'step'>[];
  /** Checked after every update; if true, the run writes a checkpoint and ends. */
  stop?(): boolean;
  /** Checked when a run resumes and after every update; if true, the run ends early with a result. */
  isSpent?(): boolean;
}

export interface OnlineOutcome {
  /** The parameters of the result; `chosen` is their evaluation. */
  readonly parameters: readonly Parameter[];
  readonly chosen: Pick<Evaluated, 'step' | 'meanReward'> | undefined;
  readonly step: number;
  readonly ended: 'complete' | 'early' | 'interrupted';
  readonly best: Pick<Evaluated, 'step' | 'meanReward'> | undefined;
  /** The last evaluation; undefined if there was none in this session. */
  readonly last: Evaluated | undefined;
}

/** First spawn keys of the random streams. */
const streams = { starts: 10, samples: 11, permutation: 12, heldOutStarts: 13, heldOutSamples: 14 } as const;

/**
 * Trains, resuming from the checkpoint if it exists.
 * @throws UserError if training diverges, or the checkpoint belongs to another run
 */
export async function learnOnline(run: OnlineLearning, hooks: OnlineHooks = {}): Promise<OnlineOutcome> {
  const { settings } = run;
  const perUpdate = stepsOf(settings.improvement);
  const state = await restore(run);
  const watch = new AlarmWatch(settings.credit.objective.kind !== 'ppo');
  const done = () => state.step / perUpdate;
  let last: Evaluated | undefined;
  hooks.onEvent?.({
    kind: 'start',
    step: done(),
    totalSteps: settings.updates,
    episodes: settings.groups * settings.groupSize,
    ...(hooks.measured !== undefined && { measured: hooks.measured }),
    best: bestOf(state, perUpdate),
  });
  for (const step of hooks.earlier?.() ?? []) watch.step(step);
  if (done() === 0) {
    for (const baseline of (await run.task.baselines?.()) ?? [])
      hooks.onEvent?.({ kind: 'baseline', step: 0, ...baseline });
    last = await evaluate(run, state, hooks);
  }
  const spentBefore = done() > 0 && hooks.isSpent?.() === true;
  while (done() < settings.updates && !spentBefore) {
    const step = await playAndLearn(run, state, done(), hooks);
    hooks.onEvent?.(step);
    for (const alarm of watch.step(step)) hooks.onEvent?.({ kind: 'alarm', step: step.step, ...alarm });
    const interrupted = hooks.stop?.() === true;
    const spent = hooks.isSpent?.() === true;
    const isLast = spent || done() === settings.updates;
    if (isLast || (!interrupted && done() % settings.evaluateEvery === 0))
      last = await evaluate(run, state, hooks);
    if (isLast || interrupted || done() % settings.checkpointEvery === 0) {
      state.progress = run.task.progress?.save();
      writeCheckpoint(run.checkpoint, state, run.owner);
      hooks.onEvent?.({ kind: 'checkpoint', step: done() });
    }
    if (isLast) break;
    if (interrupted) return outcome(state, 'interrupted', last, settings);
  }
  last ??= await evaluate(run, state, hooks);
  return outcome(state, done() < settings.updates ? 'early' : 'complete', last, settings);
}

async function playAndLearn(
  { objective, reference, sampler, sessions, settings, task }: OnlineLearning,
  state: TrainingState,
  number: number,
  { milliseconds = () => 0 }: OnlineHooks,
): Promise<Extract<RlEvent, { kind: 'step' }>> {
  const { seed, groups: starts, groupSize, updates } = settings;
  const started = milliseconds();
  sampler.refresh(state.parameters);
  const groups = await task.play(
    sampler,
    deriveSeeds(seed, [streams.starts, number], starts),
    groupSize,
    deriveSeeds(seed, [streams.samples, number], 1)[0]!,
  );
  const samplingSeconds = (milliseconds() - started) / 1000;
  const permutation = deriveSeeds(seed, [streams.permutation, number], 1)[0]!;
  const learned = await learnFrom({ objective, reference, sessions, settings }, state, groups, permutation);
  return { kind: 'step', step: number + 1, totalSteps: updates, samplingSeconds, ...learned };
}

/** Updates `state` in place; `permutation` is the seed for shuffling returns. @throws UserError if training diverges */
export async function learnFrom(
  {
    objective,
    reference,
    sessions,
    settings,
  }: Pick<OnlineLearning, 'objective' | 'reference' | 'sessions' | 'settings'>,
  state: TrainingState,
  groups: readonly Group[],
  permutation: number,
) {
  const returns = returnsOf(groups, settings.reward, permutation);
  const read = await readBefore(
    sessions,
    state.parameters,
    groups.flat().flatMap(({ sequences }) => sequences),
    reference,
    settings.improvement,
  );
  const sequences = credited(groups, returns, read, settings.credit);
  const improvement = await improve(sessions, objective, state, sequences, settings.improvement);
  return { ...statistics(groups, returns), ...improvement };
}

function statistics(groups: readonly Group[], returns: readonly (readonly number[])[]) {
  const episodes = groups.flat();
  const replies = episodes.reduce((sum, { rewards }) => sum + rewards.length, 0);
  const proposed = episodes.flatMap(({ policyReturn }) => (policyReturn === undefined ? [] : [policyReturn]));
  const sampledTokens = episodes.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    reward: mean(returns.flat()),
    lowest: smallest(returns.flat()),
    highest: largest(returns.flat()),
    spread: mean(returns.map(standardDeviation)),
    flat: mean(returns.map((group) => (isFlat(group) ? 1 : 0))),
    valid: mean(episodes.flatMap(({ valid }) => valid.map(Number))),
    ...(proposed.length > 0 && { policyReturn: mean(proposed) }),
    turns: replies / episodes.length,
    replyTokens: sampledTokens / replies,
    sampledTokens,
  };
}

/** Evaluates on the same held-out starts each time. Keeps the weights if no earlier evaluation was better. */
async function evaluate(
  { sampler, settings, task }: OnlineLearning,
  state: TrainingState,
  hooks: OnlineHooks,
): Promise<Evaluated> {
  const { evaluationEpisodes: episodes, improvement, seed } = settings;
  sampler.refresh(state.parameters);
  const { samples, values, ...measured } = await task.measure(
    sampler,
    deriveSeeds(seed, [streams.heldOutStarts], episodes),
    deriveSeeds(seed, [streams.heldOutSamples], 1)[0]!,
  );
  const meanReward = mean(values);
  const step = state.step / stepsOf(improvement);
  const best = keepBest(state, -meanReward, true);
  const margin = episodes < 2 ? 0 : (1.96 * standardDeviation(values)) / Math.sqrt(episodes);
  const evaluated = { step, meanReward, margin, ...measured };
  if (isSampled(step / settings.evaluateEvery)) hooks.onSamples?.(step, samples);
  hooks.onEvent?.({ kind: 'evaluation', ...evaluated, episodes, best });
  return evaluated;
}

async function restore({ checkpoint, owner, parameters, task }: OnlineLearning): Promise<TrainingState> {
  const stored = readCheckpoint(checkpoint, parameters, owner.identity);
  if (stored?.progress !== undefined) await task.progress?.restore(stored.progress);
  return stored ?? freshState(parameters);
}

/** The checkpoint stores the best mean reward as a loss, so its sign is reversed. */
const bestOf = ({ best }: TrainingState, perUpdate: number) =>
  best && { step: best.step / perUpdate, meanReward: -best.loss };

function outcome(
  state: TrainingState,
  ended: OnlineOutcome['ended'],
  last: Evaluated | undefined,
  { improvement, result }: OnlineSettings,
): OnlineOutcome {
  const perUpdate = stepsOf(improvement);
  const best = bestOf(state, perUpdate);
  const written =
    result === 'last'
      ? { parameters: state.parameters, chosen: last }
      : { parameters: bestParameters(state), chosen: best };
  return { ...written, step: state.step / perUpdate, ended, best, last };
}

/** SHA-256 of settings and initial parameters; only a run with the same hash can resume from a checkpoint. */
export function identityOf(described: unknown, parameters: readonly Parameter[]): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(described));
  for (const { name, shape, values } of parameters) {
    hash.update(JSON.stringify([name, shape]));
    hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest('hex');
}
