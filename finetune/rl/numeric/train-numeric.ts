/** Trains a numeric policy: play a batch → advantages → update → evaluate. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { replaceFile } from '../../../src/base/files/files.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { isRemoteId, makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { replacementFor } from '../../../src/environments/catalogue/versions.js';
import type { Environment } from '../../../src/environments/environment.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { mean } from '../../../src/statistics/descriptive.js';
import {
  bestParameters,
  identityOf,
  initialState,
  keepBest,
  readCheckpoint,
  type TrainingState,
} from '../../engine/checkpoint.js';
import { tensorOf, writeSafetensors } from '../../engine/safetensors-writer.js';
import { gradientNorm, type Parameter, parameterCount } from '../../engine/training-session.js';
import { rejectNonFinite, runLoop, type TrainingHooks } from '../../train/loop.js';
import type { TrainingResult } from '../../train/session.js';
import { fixedSettings } from '../../train/train-config.js';
import { type EpisodeStart, type NumericEpisode, playEpisodes, returnOf } from './algorithms/episodes.js';
import { type NumericBaseline, playBaseline } from './baselines.js';
import { type Learner, openLearner } from './learner.js';
import type { NumericConfig } from './numeric-config.js';

export interface NumericHooks extends TrainingHooks {
  note?(text: string): void;
}

export interface NumericOutcome extends TrainingResult {
  readonly episodes: number;
  readonly steps: number;
  /** Returns of the best policy on episodes that neither trained nor selected it; undefined if interrupted. */
  readonly returns: readonly number[] | undefined;
  readonly baselines: readonly NumericBaseline[];
}

/** First spawn keys of the random streams. */
const streams = { starts: 10, heldOut: 13 } as const;

interface OpenedTraining {
  readonly config: NumericConfig;
  readonly hooks: NumericHooks;
  readonly environments: readonly Environment[];
  readonly learner: Learner;
}

/** Numbers of training episodes and of their steps. */
interface PlayCounts {
  readonly episodes: number;
  readonly steps: number;
}

/**
 * Trains, resuming from the checkpoint if it exists.
 * @throws UserError if the policy doesn't suit the environment, the settings changed, or training diverges
 */
export async function trainNumeric(config: NumericConfig, hooks: NumericHooks = {}): Promise<NumericOutcome> {
  const environments = await openEnvironments(config, hooks);
  const learner = openLearner(config, environments[0]!);
  try {
    return await trainOn({ config, hooks, environments, learner });
  } finally {
    await learner.close();
    for (const environment of environments) environment.close?.();
  }
}

async function trainOn(training: OpenedTraining): Promise<NumericOutcome> {
  const { config, environments, hooks, learner } = training;
  const { baselines: searches, checkpointEvery, seed, threads, updates } = config;
  const checkpoint = join(config.output, trainingFiles.checkpoint);
  const identitySettings = { ...fixedSettings(config), baselines: undefined, threads };
  const owner = { identity: identityOf([identitySettings]), threads };
  const initial = learner.initialParameters();
  const state = readCheckpoint(checkpoint, initial, owner.identity) ?? initialState(initial);
  let playCounts: PlayCounts =
    state.progress === undefined ? { episodes: 0, steps: 0 } : (JSON.parse(state.progress) as PlayCounts);
  const isComplete = () => state.step >= updates || playCounts.episodes >= maxEpisodes(config);
  const parameters = parameterCount(initial);
  hooks.onEvent?.({ kind: 'start', step: state.step, totalSteps: updates, parameters });
  const ended = await runLoop(
    {
      state,
      totalSteps: updates,
      checkpoint,
      owner,
      evaluateEvery: config.evaluation.every,
      checkpointEvery,
      async step() {
        const episodes = await playBatch(training, state.parameters, playCounts.episodes);
        const progress = Math.max(state.step / updates, playCounts.episodes / maxEpisodes(config));
        const figures = await learner.update(state, episodes, progress);
        const norm = gradientNorm(new Map([['policy', state.parameters[0]!.values]]));
        const numbers = { "norm of the policy's parameters": norm };
        const advice = 'lower algorithm.learningRate or, with trpo, algorithm.maxKl';
        rejectNonFinite(state.step, numbers, 'algorithm', advice);
        const steps = episodes.reduce((sum, { rewards }) => sum + rewards.length, 0);
        playCounts = { episodes: playCounts.episodes + episodes.length, steps: playCounts.steps + steps };
        const reward = mean(episodes.map(returnOf));
        return { kind: 'step', step: state.step, reward, ...playCounts, ...figures };
      },
      async evaluate() {
        const returns = await play(training, state.parameters, evaluationSeeds(config, 0));
        const meanReward = mean(returns);
        const isBest = keepBest(state, -meanReward, true);
        return { kind: 'evaluation', step: state.step, meanReward, episodes: returns.length, best: isBest };
      },
      isOver: isComplete,
      progress: () => JSON.stringify(playCounts),
    },
    hooks,
  );
  const { best } = state;
  const lowest = best && { step: best.step, loss: best.loss };
  const outcome = { step: state.step, lowest, ...playCounts };
  const noResult = { returns: undefined, baselines: [], result: undefined };
  const interruptedOutcome = { ...outcome, ...noResult, ended: 'interrupted' } as const;
  if (ended === 'interrupted') return interruptedOutcome;
  const finalSeeds = evaluationSeeds(config, 1);
  const returns = await play(training, bestParameters(state), finalSeeds);
  hooks.onEvent?.({ kind: 'final', step: state.step, episodes: playCounts.episodes, returns });
  const baselines: NumericBaseline[] = [];
  if (searches.length > 0) hooks.onBaselines?.();
  for (const name of searches) {
    if (hooks.stop?.()) return interruptedOutcome;
    const budget = { seed, episodes: playCounts.episodes, finalSeeds };
    const baseline = await playBaseline(name, environments[0]!, budget);
    baselines.push(baseline);
    hooks.onEvent?.({ kind: 'baseline', step: state.step, ...baseline });
  }
  const result = writePolicy(config, state);
  return { ...outcome, ended: isComplete() ? 'complete' : 'early', returns, baselines, result };
}

/** Plays the episodes of an update. */
function playBatch(
  { config, environments, learner }: OpenedTraining,
  parameters: readonly Parameter[],
  episodesBefore: number,
): Promise<readonly NumericEpisode[]> {
  const { batchEpisodes = Number.POSITIVE_INFINITY, batchSteps, seed } = config;
  const limit = Math.min(batchEpisodes, maxEpisodes(config) - episodesBefore);
  return playEpisodes(learner.actor(parameters), environments, (index, steps) =>
    index < limit && (index < environments.length || steps < batchSteps)
      ? trainingStart(seed, episodesBefore + index)
      : undefined,
  );
}

/** Plays one episode per seed with the most probable actions. @returns the episodes' returns */
async function play(
  { environments, learner }: OpenedTraining,
  parameters: readonly Parameter[],
  seeds: readonly number[],
): Promise<readonly number[]> {
  const start = (index: number): EpisodeStart | undefined =>
    index < seeds.length ? { seed: seeds[index]!, actionSeed: undefined } : undefined;
  return (await playEpisodes(learner.actor(parameters), environments, start)).map(returnOf);
}

const maxEpisodes = ({ maxEpisodes = Number.POSITIVE_INFINITY }: NumericConfig) => maxEpisodes;

/** Training starts use seeds below 2³¹; evaluations use seeds from 2³¹ on. */
function trainingStart(seed: number, episode: number): EpisodeStart {
  const random = createGenerator(seed, [streams.starts, episode]);
  return { seed: random.integers(0, 2 ** 31), actionSeed: random.integers(0, 2 ** 31) };
}

/** Seeds of the evaluations that select the best weights (stage 0), or of the final one (stage 1). */
function evaluationSeeds({ seed, evaluation }: NumericConfig, stage: 0 | 1): readonly number[] {
  const random = createGenerator(seed, [streams.heldOut, stage]);
  const lowestSeed = (stage + 1) * 2 ** 31;
  return Array.from({ length: evaluation.episodes }, () => lowestSeed + random.integers(0, 2 ** 31));
}

async function openEnvironments(
  { environment: { id, options }, environments }: NumericConfig,
  { note }: NumericHooks,
): Promise<readonly Environment[]> {
  if (isRemoteId(id))
    throw new UserError({
      field: 'environment',
      value: id,
      message: "numeric policies can't learn in an environment that runs in another program",
      hint: 'choose a built-in environment, or your own module (./my-env.js)',
    });
  const replacement = replacementFor(id);
  if (replacement !== undefined) note?.(replacement.note);
  return Promise.all(Array.from({ length: environments }, () => makeEnvironment(id, options)));
}

/** Writes the best policy: its parameters and observation moments, and a description. Returns their directory. */
function writePolicy({ output, environment, policy }: NumericConfig, state: TrainingState): string {
  const directory = join(output, 'policy');
  mkdirSync(directory, { recursive: true });
  const parameters = bestParameters(state);
  const storedParameters = parameters.filter(({ name }) => name !== 'value' && name !== 'observed.count');
  const tensors = storedParameters.map((one) => tensorOf(one, one.values));
  writeSafetensors(join(directory, 'policy.safetensors'), tensors);
  const policyFacts = {
    environment,
    policy,
    observed: parameters.find(({ name }) => name === 'observed.count')!.values[0],
    ...(state.best && { step: state.best.step, meanReturn: -state.best.loss }),
  };
  replaceFile(join(directory, 'policy.json'), `${JSON.stringify(policyFacts, null, 2)}\n`);
  return directory;
}
