/** Plays many episodes in parallel: each evaluation of the network chooses the actions for all of them. */
import { UserError } from '../../../../src/base/errors.js';
import { createGenerator, type RandomGenerator } from '../../../../src/base/random/generator.js';
import {
  dimensionsOf,
  type Environment,
  type EnvironmentSpec,
  type Observation,
  type Space,
} from '../../../../src/environments/environment.js';
import type { Row } from '../network/network.js';
import type { NumericPolicy } from '../network/policy.js';

export interface NumericEpisode {
  /** Observation before each step, not normalized. */
  readonly rawObservations: readonly Row[];
  /** The same observations, normalized. */
  readonly observations: readonly Row[];
  readonly actions: readonly Float64Array[];
  readonly rewards: readonly number[];
  /** Observation after the last step, normalized. */
  readonly lastObservation: Row;
  /** True if the episode terminated; false if a limit truncated it. */
  readonly terminated: boolean;
}

export const returnOf = ({ rewards }: NumericEpisode): number => rewards.reduce((sum, one) => sum + one, 0);

export interface Actor {
  readonly policy: NumericPolicy;
  readonly theta: Float64Array;
  readonly moments: RunningMoments;
}

export interface EpisodeStart {
  readonly seed: number;
  /** Seed for sampling actions; undefined selects the most probable action each time. */
  readonly actionSeed: number | undefined;
}

interface Rollout {
  readonly environment: Environment;
  readonly index: number;
  readonly random: RandomGenerator | undefined;
  readonly rawObservations: Row[];
  readonly observations: Row[];
  readonly actions: Float64Array[];
  readonly rewards: number[];
}

/**
 * Plays whole episodes, at most one per environment at a time; starts no more once `next` returns undefined.
 * @param next gets the episode's index and the number of steps taken so far
 * @returns the episodes in the order they were started
 */
export async function playEpisodes(
  actor: Actor,
  environments: readonly Environment[],
  next: (index: number, steps: number) => EpisodeStart | undefined,
): Promise<readonly NumericEpisode[]> {
  const finishedEpisodes: NumericEpisode[] = [];
  const rescale = (row: Row) => normalize(actor.moments, row);
  let nextIndex = 0;
  let steps = 0;
  const begin = (environment: Environment): Rollout[] => {
    const start = next(nextIndex, steps);
    if (start === undefined) return [];
    const { seed, actionSeed } = start;
    const random = actionSeed === undefined ? undefined : createGenerator(actionSeed);
    const raw = rowOf(environment.reset(seed), environment.observationSpace);
    const columns = { rawObservations: [raw], observations: [rescale(raw)], actions: [], rewards: [] };
    return [{ environment, index: nextIndex++, random, ...columns }];
  };
  let running = environments.flatMap(begin);
  while (running.length > 0) {
    const actions = await chooseActions(actor, running);
    const continuing: Rollout[] = [];
    const freeEnvironments: Environment[] = [];
    for (const [i, episode] of running.entries()) {
      const { environment, rawObservations, observations } = episode;
      const step = environment.step(actor.policy.head.toAction(actions[i]!));
      steps++;
      episode.actions.push(actions[i]!);
      episode.rewards.push(step.reward);
      const row = rowOf(step.observation, environment.observationSpace);
      if (step.terminated || step.truncated) {
        const { random: _random, environment: _environment, index, ...columns } = episode;
        finishedEpisodes[index] = { ...columns, lastObservation: rescale(row), terminated: step.terminated };
        freeEnvironments.push(environment);
      } else {
        rawObservations.push(row);
        observations.push(rescale(row));
        continuing.push(episode);
      }
    }
    running = [...continuing, ...freeEnvironments.flatMap(begin)];
  }
  return finishedEpisodes;
}

async function chooseActions({ policy, theta }: Actor, running: readonly Rollout[]): Promise<Float64Array[]> {
  const { head } = policy;
  const latestRows = running.map(({ observations }) => observations.at(-1)!);
  const { outputs, own } = await policy.distributions(theta, latestRows);
  return running.map(({ random }, i) => {
    const distribution = { outputs: outputs.subarray(i * head.outputs, (i + 1) * head.outputs), own };
    return random === undefined ? head.mode(distribution) : head.sample(distribution, random);
  });
}

/** Normalized observations are clipped to ± this value, as in Kostrikov's pytorch-trpo. */
const clipBound = 5;

/** Running mean and sum of squared deviations (Welford 1962). */
export interface RunningMoments {
  /** One entry: the number of rows. */
  readonly count: Float64Array;
  readonly mean: Float64Array;
  readonly squares: Float64Array;
}

export function emptyMoments(width: number): RunningMoments {
  return { count: new Float64Array(1), mean: new Float64Array(width), squares: new Float64Array(width) };
}

export function addRow(moments: RunningMoments, row: Row): void {
  const { mean, squares } = moments;
  const count = ++moments.count[0]!;
  for (let i = 0; i < row.length; i++) {
    const deviation = row[i]! - mean[i]!;
    mean[i]! += deviation / count;
    squares[i]! += deviation * (row[i]! - mean[i]!);
  }
}

/** (x − mean) / σ, or x if there were fewer than two rows; clipped in both cases. */
export function normalize({ count: [count = 0], mean, squares }: RunningMoments, row: Row): Row {
  return row.map((value, i) => {
    const scaled = count < 2 ? value : (value - mean[i]!) / (Math.sqrt(squares[i]! / (count - 1)) + 1e-8);
    return Math.min(clipBound, Math.max(-clipBound, scaled));
  });
}

/** @throws UserError for text observations */
export function rowWidth({ id, observationSpace: space }: EnvironmentSpec): number {
  if (space.kind === 'text')
    throw new UserError({
      field: 'environment',
      value: id,
      message: 'the observations of this environment are text',
      hint: 'train a language model instead: set model, and remove algorithm and policy',
    });
  return space.kind === 'discrete' ? space.n : dimensionsOf(space);
}

/** Converts an observation to a row of numbers; discrete observations are one-hot encoded. */
export function rowOf(observation: Observation, space: Space): Row {
  if (space.kind !== 'discrete') return Float64Array.from(observation as readonly number[]);
  const row = new Float64Array(space.n);
  row[(observation as number) - (space.start ?? 0)] = 1;
  return row;
}
