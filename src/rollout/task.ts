/** Creates a config's environment, with its reward function if one is set. */
import { basename } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import { errorLocation, loadModule } from '../base/modules/user-module.js';
import { type EnvironmentSource, makeEnvironment, openEnvironment } from '../environments/catalogue/open.js';
import type { Action, Environment, Observation, Step } from '../environments/environment.js';
import {
  EnvironmentError,
  type EpisodeBatch,
  isRemote,
  type RemoteEnvironment,
} from '../environments/remote/remote-environment.js';

/** The step that a reward function is called with. */
export interface Transition extends Step {
  /** The observation before the step. */
  readonly before: Observation;
  readonly action: Action;
}

type RewardFunction = (transition: Transition) => number;

/** Like `openTask`, but only for in-process environments. */
export async function makeTask(source: EnvironmentSource, reward: string | undefined): Promise<Environment> {
  const environment = await makeEnvironment(source.id, source.options);
  return reward === undefined ? environment : withRewards(environment, await loadRewardFunction(reward));
}

/** Opens an environment, with the reward module at `reward`, if set. @throws UserError if either can't be loaded */
export async function openTask(
  source: EnvironmentSource,
  reward: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  processes = 1,
): Promise<Environment | RemoteEnvironment> {
  return withRewardModule(await openEnvironment(source, env, processes), reward);
}

/** Wraps an environment with a module's reward function; returns it unchanged if there is none. */
export async function withRewardModule<E extends Environment | RemoteEnvironment>(
  environment: E,
  reward: string | undefined,
): Promise<Environment | RemoteEnvironment> {
  if (reward === undefined) return environment;
  const rewardOf = await loadRewardFunction(reward);
  if (!isRemote(environment)) return withRewards(environment, rewardOf);
  const batches = environment.batches.map((batch) => withBatchRewards(batch, rewardOf));
  return { ...environment, batches };
}

async function loadRewardFunction(path: string): Promise<RewardFunction> {
  const { file, create } = await loadModule(path, 'reward', 'evaluation.reward');
  const rewardOf = await create({}, 'evaluation.reward');
  if (typeof rewardOf !== 'function')
    throw new UserError({ file, message: 'create returned no reward function' });
  return (transition) => {
    let reward: unknown;
    try {
      reward = (rewardOf as (given: Transition) => unknown)(transition);
    } catch (error) {
      const { line } = errorLocation(file, error);
      const place = line === undefined ? basename(file) : `${basename(file)}:${line}`;
      throw new EnvironmentError('raised', `${place}: the reward function threw: ${messageOf(error)}`);
    }
    if (typeof reward === 'number' && Number.isFinite(reward)) return reward;
    throw new EnvironmentError(
      'invalid',
      `${basename(file)}: the reward of a step is ${String(reward)}\n  expected: a finite number`,
    );
  };
}

/** @param environment a `LimitedEnvironment`, whose optional members are own properties, so a spread copies them */
function withRewards(environment: Environment, rewardOf: RewardFunction): Environment {
  let before: Observation;
  return {
    ...environment,
    reset(seed) {
      before = environment.reset(seed);
      return before;
    },
    step(action) {
      const step = environment.step(action);
      const reward = rewardOf({ ...step, before, action });
      before = step.observation;
      return { ...step, reward };
    },
  };
}

function withBatchRewards(batch: EpisodeBatch, rewardOf: RewardFunction): EpisodeBatch {
  let before: Observation[] = [];
  return {
    slotCount: batch.slotCount,
    async reset(seeds) {
      before = [...(await batch.reset(seeds))];
      return [...before];
    },
    async step(moves) {
      const steps = await batch.step(moves);
      return steps.map((step, i) => {
        const { slot, action } = moves[i]!;
        const reward = rewardOf({ ...step, before: before[slot]!, action });
        before[slot] = step.observation;
        return { ...step, reward };
      });
    },
  };
}
