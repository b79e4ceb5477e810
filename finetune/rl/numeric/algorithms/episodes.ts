/** Episodes of a policy, some of them played side by side so that each step is one run of the network. */
import type { Environment } from '../../../../src/environments/environment.js';
import { createGenerator, type RandomGenerator } from '../../../../src/random/generator.js';
import type { Row } from '../network/network.js';
import type { NumericPolicy } from '../network/policy.js';
import { normalised, type RunningMoments, rowOf } from './observation-filter.js';

export interface NumericEpisode {
  /** Observations before each step, as the environment gave them. */
  readonly raw: readonly Row[];
  /** The same, normalised. */
  readonly observations: readonly Row[];
  /** What the policy's network saw of them. */
  readonly inputs: readonly Row[];
  readonly actions: readonly Float64Array[];
  readonly rewards: readonly number[];
  /** The observation after the last step, normalised. */
  readonly last: Row;
  /** Whether the task ended; else a limit cut the episode off. */
  readonly terminated: boolean;
}

export const returnOf = ({ rewards }: NumericEpisode): number => rewards.reduce((sum, one) => sum + one, 0);

/** The policy as it acts now. */
export interface Actor {
  readonly policy: NumericPolicy;
  readonly theta: Float64Array;
  /** Undefined: observations are seen as they are. */
  readonly moments: RunningMoments | undefined;
  /** What the network sees of normalised observations; undefined: these themselves. */
  readonly encode?: ((rows: readonly Row[]) => Promise<readonly Row[]>) | undefined;
}

/** An episode to be played. */
export interface Start {
  readonly seed: number;
  /** Seed of the actions; undefined: the most probable action each time. */
  readonly actionSeed: number | undefined;
}

interface Running {
  readonly environment: Environment;
  readonly index: number;
  readonly random: RandomGenerator | undefined;
  readonly raw: Row[];
  readonly observations: Row[];
  readonly inputs: Row[];
  readonly actions: Float64Array[];
  readonly rewards: number[];
}

/**
 * Plays whole episodes, at most one in each environment at a time, until `next` gives no more.
 * @param next the start of the given episode; it is told the steps that were taken so far
 * @param stop true: ends at once
 * @returns the episodes in the order of their starts; undefined where it was stopped
 */
export async function playEpisodes(
  actor: Actor,
  environments: readonly Environment[],
  next: (index: number, steps: number) => Start | undefined,
  stop: () => boolean = () => false,
): Promise<readonly NumericEpisode[] | undefined> {
  const done: NumericEpisode[] = [];
  const see = (row: Row) => (actor.moments === undefined ? row : normalised(actor.moments, row));
  let started = 0;
  let steps = 0;
  const begin = (environment: Environment): Running[] => {
    const start = next(started, steps);
    if (start === undefined) return [];
    const { seed, actionSeed } = start;
    const random = actionSeed === undefined ? undefined : createGenerator(actionSeed);
    const raw = rowOf(environment.reset(seed), environment.observationSpace);
    const columns = { inputs: [], actions: [], rewards: [] };
    return [{ environment, index: started++, random, raw: [raw], observations: [see(raw)], ...columns }];
  };
  let running = environments.flatMap(begin);
  while (running.length > 0) {
    if (stop()) return undefined;
    const seen = running.map(({ observations }) => observations.at(-1)!);
    const inputs = (await actor.encode?.(seen)) ?? seen;
    const actions = await chosenActions(actor, inputs, running);
    const following: Running[] = [];
    const free: Environment[] = [];
    for (const [i, episode] of running.entries()) {
      const { environment, raw, observations } = episode;
      const step = environment.step(actor.policy.head.toAction(actions[i]!));
      steps++;
      episode.inputs.push(inputs[i]!);
      episode.actions.push(actions[i]!);
      episode.rewards.push(step.reward);
      const row = rowOf(step.observation, environment.observationSpace);
      if (step.terminated || step.truncated) {
        const { random: _random, environment: _environment, index, ...columns } = episode;
        done[index] = { ...columns, last: see(row), terminated: step.terminated };
        free.push(environment);
      } else {
        raw.push(row);
        observations.push(see(row));
        following.push(episode);
      }
    }
    running = [...following, ...free.flatMap(begin)];
  }
  return done;
}

async function chosenActions(
  { policy, theta }: Actor,
  inputs: readonly Row[],
  running: readonly Running[],
): Promise<Float64Array[]> {
  const { head } = policy;
  const { outputs, own } = await policy.distributions(theta, inputs);
  return running.map(({ random }, i) => {
    const one = { outputs: outputs.subarray(i * head.outputs, (i + 1) * head.outputs), own };
    return random === undefined ? head.mode(one) : head.sample(one, random);
  });
}
