/** Trains a numeric policy: play a batch → advantages → update → evaluate. Read this file first. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FailedWork, UserError } from '../../../src/base/errors.js';
import { isRemoteId, makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { replacementFor } from '../../../src/environments/catalogue/versions.js';
import type { Environment } from '../../../src/environments/environment.js';
import { createGenerator } from '../../../src/random/generator.js';
import { mean } from '../../../src/statistics/descriptive.js';
import type { Timed } from '../../train/record.js';
import { type NumericEpisode, playEpisodes, returnOf, type Start } from './algorithms/episodes.js';
import { type NumericBaseline, playBaseline } from './baselines.js';
import { type Learner, type LearnerState, openLearner, type UpdateFigures } from './learner.js';
import type { NumericConfig } from './numeric-config.js';
import {
  type BestPolicy,
  numericFiles,
  readNumericCheckpoint,
  writeNumericCheckpoint,
  writePolicy,
} from './numeric-files.js';

export type NumericEvent =
  /** `step`: number of completed updates. In the event `step`, `episodes` and `steps` are totals so far. */
  | { readonly kind: 'start'; readonly step: number; readonly totalSteps: number }
  | ({
      readonly kind: 'step';
      readonly step: number;
      /** Mean return of this update's episodes, with sampled actions. */
      readonly reward: number;
      readonly episodes: number;
      readonly steps: number;
    } & UpdateFigures)
  | {
      readonly kind: 'evaluation';
      readonly step: number;
      readonly meanReturn: number;
      readonly best: boolean;
    }
  | { readonly kind: 'checkpoint'; readonly step: number }
  /** `episodes`: training episodes. `returns`: returns of the final episodes, whose seeds weren't used before. */
  | {
      readonly kind: 'final';
      readonly step: number;
      readonly episodes: number;
      readonly returns: readonly number[];
    }
  | ({ readonly kind: 'baseline'; readonly step: number } & NumericBaseline);

export type NumericMetric = Timed<NumericEvent>;

export interface NumericHooks {
  onEvent?(event: NumericEvent): void;
  note?(text: string): void;
  /** Checked at every environment step and before each baseline; if true, the run writes a checkpoint and ends. */
  stop?(): boolean;
  /** If true, takes no further updates; the result comes from the checkpoint. */
  readonly finish?: boolean | undefined;
  /** Awaited before each update. */
}

export interface NumericOutcome {
  readonly ended: 'complete' | 'early' | 'interrupted';
  readonly step: number;
  readonly episodes: number;
  readonly steps: number;
  /** Returns of the best policy on episodes that neither trained nor selected it; undefined if interrupted. */
  readonly returns: readonly number[] | undefined;
  readonly baselines: readonly NumericBaseline[];
  readonly result: string | undefined;
}

/** First spawn keys of the random streams. */
const streams = { starts: 10, heldOut: 13 } as const;

/**
 * Trains, resuming from the checkpoint if it exists.
 * @throws UserError if the policy doesn't suit the environment, or the settings changed
 */
export async function trainNumeric(config: NumericConfig, hooks: NumericHooks = {}): Promise<NumericOutcome> {
  return withTraining(config, hooks, trainOn);
}

/** Opens the environments and the learner, and closes them afterwards. */
async function withTraining<T>(
  config: NumericConfig,
  hooks: NumericHooks,
  use: (training: OpenedTraining) => Promise<T>,
): Promise<T> {
  const environments = await openEnvironments(config, hooks);
  const learner = openLearner(config, environments[0]!);
  try {
    return await use({ config, hooks, environments, learner });
  } finally {
    await learner.close();
    for (const environment of environments) environment.close?.();
  }
}

interface OpenedTraining {
  readonly config: NumericConfig;
  readonly hooks: NumericHooks;
  readonly environments: readonly Environment[];
  readonly learner: Learner;
}

async function trainOn(training: OpenedTraining): Promise<NumericOutcome> {
  const { config, hooks, learner } = training;
  const file = join(config.output, numericFiles.checkpoint);
  const identity = identityOf(config);
  const stored = readNumericCheckpoint(file, identity);
  const state = stored?.state ?? learner.initial();
  let best = stored?.best;
  const save = () => {
    writeNumericCheckpoint(file, state, best, identity);
    hooks.onEvent?.({ kind: 'checkpoint', step: state.updates });
  };
  const outcome = (ended: NumericOutcome['ended']) => {
    const { updates: step, episodes, steps } = state;
    return { ended, step, episodes, steps };
  };
  const interrupted = () => {
    save();
    return { ...outcome('interrupted'), returns: undefined, baselines: [], result: undefined };
  };
  hooks.onEvent?.({ kind: 'start', step: state.updates, totalSteps: config.updates });
  for (;;) {
    const isLast = hooks.finish || isOver(config, state);
    const isEvaluated = state.evaluated === state.updates;
    if (!isEvaluated && (isLast || state.updates % config.evaluation.every === 0)) {
      const judged = await judge(training, state, best);
      if (judged === undefined) return interrupted();
      best = judged;
      state.evaluated = state.updates;
    }
    if (hooks.finish) break;
    if (isOver(config, state) || (state.updates > 0 && state.updates % config.checkpointEvery === 0)) save();
    if (isOver(config, state)) break;
    const event = await update(training, state);
    if (event === undefined) return interrupted();
    hooks.onEvent?.(event);
  }
  const returns = await play(training, best!, finalSeeds(config));
  if (returns === undefined) return interrupted();
  hooks.onEvent?.({ kind: 'final', step: state.updates, episodes: state.episodes, returns });
  const baselines: NumericBaseline[] = [];
  for (const name of config.baselines) {
    if (hooks.stop?.()) return interrupted();
    const { episodes } = state;
    const budget = { seed: config.seed, episodes, finalSeeds: finalSeeds(config) };
    const baseline = await playBaseline(name, training.environments[0]!, budget);
    baselines.push(baseline);
    hooks.onEvent?.({ kind: 'baseline', step: state.updates, ...baseline });
  }
  return {
    ...outcome(isOver(config, state) ? 'complete' : 'early'),
    returns,
    baselines,
    result: writePolicy(config, best!),
  };
}

/** Plays and learns from one batch; undefined if stopped. */
async function update(
  { config, hooks, environments, learner }: OpenedTraining,
  state: LearnerState,
): Promise<Extract<NumericEvent, { readonly kind: 'step' }> | undefined> {
  const most = batchEpisodes(config, state);
  const episodes = await playEpisodes(
    learner.actor(state),
    environments,
    (index, steps) =>
      index < most && (index < environments.length || steps < config.batchSteps)
        ? trainingStart(config.seed, state.episodes + index)
        : undefined,
    hooks.stop,
  );
  if (episodes === undefined) return undefined;
  const figures = await learner.update(state, episodes, progressOf(config, state));
  if (state.theta.some((value) => !Number.isFinite(value)))
    throw new FailedWork({
      message: `the policy's parameters aren't finite after update ${state.updates}`,
      remedy: 'lower algorithm.learningRate (ppo) or algorithm.maxKl (trpo)',
    });
  return {
    kind: 'step',
    step: state.updates,
    reward: mean(episodes.map(returnOf)),
    episodes: state.episodes,
    steps: state.steps,
    ...figures,
  };
}

/** Evaluates the current policy. Returns the best so far; undefined if stopped. */
async function judge(
  training: OpenedTraining,
  { theta, observed, updates: step }: LearnerState,
  best: BestPolicy | undefined,
): Promise<BestPolicy | undefined> {
  const { config, hooks } = training;
  const seeds = evaluationSeeds(config.seed, 0, config.evaluation.episodes);
  const returns = await play(training, { theta, observed }, seeds);
  if (returns === undefined) return undefined;
  const meanReturn = mean(returns);
  const isBest = best === undefined || meanReturn >= best.meanReturn;
  hooks.onEvent?.({ kind: 'evaluation', step, meanReturn, best: isBest });
  if (!isBest) return best;
  const { count, mean: centre, squares } = observed;
  return {
    ...{ step, meanReturn, theta: theta.slice() },
    observed: { count, mean: centre.slice(), squares: squares.slice() },
  };
}

/** Plays one episode per seed with the most probable actions. @returns the episodes' returns; undefined if stopped */
async function play(
  { environments, hooks, learner }: OpenedTraining,
  policy: Pick<LearnerState, 'theta' | 'observed'>,
  seeds: readonly number[],
): Promise<readonly number[] | undefined> {
  const start = (index: number): Start | undefined =>
    index < seeds.length ? { seed: seeds[index]!, actionSeed: undefined } : undefined;
  const episodes: readonly NumericEpisode[] | undefined = await playEpisodes(
    learner.actor(policy),
    environments,
    start,
    hooks.stop,
  );
  return episodes?.map(returnOf);
}

function batchEpisodes(
  { batchEpisodes: most, maxEpisodes }: NumericConfig,
  { episodes }: LearnerState,
): number {
  const left = (maxEpisodes ?? Number.POSITIVE_INFINITY) - episodes;
  return Math.min(most ?? Number.POSITIVE_INFINITY, left);
}

function isOver({ updates, maxEpisodes }: NumericConfig, state: LearnerState): boolean {
  return state.updates >= updates || (maxEpisodes !== undefined && state.episodes >= maxEpisodes);
}

function progressOf({ updates, maxEpisodes }: NumericConfig, state: LearnerState): number {
  return Math.max(state.updates / updates, maxEpisodes === undefined ? 0 : state.episodes / maxEpisodes);
}

/** Training starts use seeds below 2³¹; evaluations use seeds from 2³¹ on. */
function trainingStart(seed: number, episode: number): Start {
  const random = createGenerator(seed, [streams.starts, episode]);
  return { seed: random.integers(0, 2 ** 31), actionSeed: random.integers(0, 2 ** 31) };
}

function evaluationSeeds(seed: number, stage: 0 | 1, episodes: number): readonly number[] {
  const random = createGenerator(seed, [streams.heldOut, stage]);
  return Array.from({ length: episodes }, () => (stage + 1) * 2 ** 31 + random.integers(0, 2 ** 31));
}

const finalSeeds = ({ seed, evaluation }: NumericConfig) => evaluationSeeds(seed, 1, evaluation.episodes);

async function openEnvironments(
  { environment: { id, options }, environments }: NumericConfig,
  { note }: NumericHooks,
): Promise<readonly Environment[]> {
  if (isRemoteId(id))
    throw new UserError({
      field: 'environment',
      value: id,
      message: 'numeric policies can’t learn in an environment that runs in another program',
      remedy: 'choose a built-in environment, or your own module (./my-env.js)',
    });
  const replacement = replacementFor(id);
  if (replacement !== undefined) note?.(replacement.note);
  return Promise.all(Array.from({ length: environments }, () => makeEnvironment(id, options)));
}

/** SHA-256 of the settings, without those that don't affect training: output, baselines and checkpoint interval. */
function identityOf(config: NumericConfig): string {
  const { output: _, baselines: _baselines, checkpointEvery: _every, $schema: _schema, ...fixed } = config;
  return createHash('sha256').update(JSON.stringify(fixed)).digest('hex');
}
