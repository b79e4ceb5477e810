/** Known bounds on the mean return and on the return of a single episode. */

import { type Interval, unbounded } from '../../statistics/bootstrap.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { snakeCased } from '../options.js';
import type { EnvironmentConfig } from '../settings.js';
import { entryFor, environmentFacts, environmentName, type Options, option } from './facts.js';
import { environmentInfo, isBuiltInId, isRemoteId } from './open.js';
import { replacementFor } from './versions.js';

export interface ReturnBound {
  /** Upper bound on the mean return of any policy. */
  readonly value: number;
  readonly because: string;
}

/** Upper bound on the mean return, if known. @param steps step limit of an episode */
export function bestReturn(
  { id, options }: Pick<EnvironmentConfig, 'id' | 'options'>,
  steps: number,
): ReturnBound | undefined {
  const bare = replacementFor(id)?.id ?? id.replace(/^gymnasium:/, '');
  return entryFor(bounds, bare)?.(snakeCased(options), steps);
}

/** Upper bound on the return of one episode, if known; undefined for remote environments, which may be modified. */
function highestReturn(
  environment: Pick<EnvironmentConfig, 'id' | 'options'>,
  steps: number,
): number | undefined {
  const { id, options } = environment;
  if (isRemoteId(id)) return undefined;
  const lucky = luckiest[environmentName(replacementFor(id)?.id ?? id)];
  return lucky === undefined ? bestReturn(environment, steps)?.value : lucky(snakeCased(options), steps);
}

/** Upper bounds on an episode's return where a lucky episode can exceed the bound on the mean, or `bounds` has none. */
const luckiest: Readonly<Record<string, (options: Options, steps: number) => number | undefined>> = {
  FrozenLake: (options) => {
    const rewards = option<readonly number[]>(options, 'reward_schedule', [1, 0, 0]);
    return rewards.join() === '1,0,0' ? 1 : undefined;
  },
  NavigationTrack: (_options, steps) => 5 * steps,
  // On slippery ground, a lucky agent can still follow the shortest path of 13 steps.
  CliffWalking: (_options, steps) => Math.max(-13, -steps),
  // The delivery ends the episode; all other steps have a cost.
  Taxi: () => 20,
  Blackjack: (options) => (option(options, 'natural', false) && !option(options, 'sab', true) ? 1.5 : 1),
};

const bounds: Readonly<Record<string, (options: Options, steps: number) => ReturnBound | undefined>> = {
  CartPole: (options, steps) =>
    option(options, 'sutton_barto_reward', false)
      ? { value: 0, because: 'falling costs 1, and no step has a positive reward' }
      : { value: steps, because: `each step earns 1, and an episode has at most ${steps} steps` },
  MountainCar: () => ({ value: -1, because: 'each step costs 1' }),
  MountainCarContinuous: () => ({ value: 100, because: 'the goal earns 100, and pushing has a cost' }),
  Pendulum: () => ({ value: 0, because: 'no step has a positive reward' }),
  Acrobot: () => ({ value: 0, because: 'no step has a positive reward' }),
  FrozenLake: frozenLake,
  CliffWalking: (options, steps) => {
    if (!option(options, 'is_slippery', false) || steps < 100)
      return { value: Math.max(-13, -steps), because: 'the shortest path has 13 steps, which cost 1 each' };
    // Longer episodes have a lower optimum (-64.7 for 1,000 steps), so the bound still holds.
    return { value: -63.01, because: 'dynamic programming over 100 steps on slippery ground' };
  },
  Taxi: (options) =>
    option(options, 'is_rainy', false) || option(options, 'fickle_passenger', false)
      ? undefined
      : { value: 7.93, because: 'dynamic programming, averaged over all initial states' },
  // Sutton and Barto's rules (Gymnasium's default), with an infinite deck.
  Blackjack: (options) =>
    option(options, 'sab', true)
      ? { value: -0.043, because: 'perfect play loses this much per game on average' }
      : undefined,
  Nim: () => ({ value: 1, because: 'a win earns 1' }),
  Pong: (_options, steps) =>
    steps <= 1000 ? { value: 3, because: 'at most 3 hits are possible in 1,000 steps' } : undefined,
  Reacher: (options) =>
    ['reward_dist_weight', 'reward_control_weight'].every((name) => option(options, name, 1) >= 0)
      ? { value: 0, because: 'distance and effort have a cost, and no step has a positive reward' }
      : undefined,
  InvertedPendulum: (_options, steps) => ({
    value: steps,
    because: `each step earns 1, and an episode has at most ${steps} steps`,
  }),
  // A step earns at most the healthy reward minus (y - 2)², and the tip's height y is at most 1.2 m.
  InvertedDoublePendulum: (options, steps) => {
    const best = option(options, 'healthy_reward', 10) - 0.64;
    if (best < 0) return { value: 0, because: 'no step has a positive reward' };
    return {
      value: best * steps,
      because: `a step earns at most ${best.toFixed(2)}, and an episode has at most ${steps} steps`,
    };
  },
  maze: () => ({ value: 1, because: 'the goal earns 1, and all other steps have a cost' }),
};

/** Bounds for slippery maps come from dynamic programming over Gymnasium's tables, with time-dependent policies. */
function frozenLake(options: Options, steps: number): ReturnBound | undefined {
  const [goal, hole, frozen] = option<readonly number[]>(options, 'reward_schedule', [1, 0, 0]);
  if (goal !== 1 || hole !== 0 || frozen !== 0) return undefined;
  const slippery = option(options, 'is_slippery', true);
  const ownMap = options.desc !== undefined && options.desc !== null;
  const usual = Math.abs(option(options, 'success_rate', 1 / 3) - 1 / 3) < 1e-3;
  if (!slippery || ownMap || !usual) return { value: 1, because: 'the goal earns 1' };
  const is4x4 = option(options, 'map_name', '4x4') === '4x4';
  if (steps <= 100) {
    const because = `dynamic programming over 100 steps on the slippery ${is4x4 ? '4x4' : '8x8'} map`;
    return { value: is4x4 ? 0.744 : 0.641, because };
  }
  return is4x4
    ? { value: 0.8235, because: 'dynamic programming without a step limit on the slippery 4x4 map' }
    : { value: 1, because: 'the goal earns 1' };
}

/** Inclusive range of an episode's return; ±Infinity where unknown, e.g. if the run redefines its `reward`. */
export function returnRange(
  environment: Pick<EnvironmentConfig, 'id' | 'options'>,
  { maxSteps, reward }: { readonly maxSteps: number; readonly reward?: unknown },
): Interval {
  const { id } = environment;
  if (reward !== undefined || !isBuiltInId(id)) return unbounded;
  const options = snakeCased(environment.options);
  const own = option<number | undefined>(options, 'max_episode_steps', environmentInfo(id).maxSteps);
  const steps = own === undefined || own === -1 ? maxSteps : Math.min(own, maxSteps);
  if (environmentName(id) === 'FrozenLake') return lakeRange(options, steps);
  const low = entryFor(lowest, id);
  return [
    low?.(options, steps, id) ?? Number.NEGATIVE_INFINITY,
    highestReturn(environment, steps) ?? Number.POSITIVE_INFINITY,
  ];
}

/** Lower bounds on an episode's return; absent if there is none, e.g. because the cost of actions isn't clipped. */
const lowest: Readonly<Record<string, (options: Options, steps: number, id: string) => number>> = {
  CartPole: (options) => (option(options, 'sutton_barto_reward', false) ? -1 : 1),
  MountainCar: (_options, steps) => -steps,
  // θ² + 0.1 θ̇² + 0.001 u², with |θ| ≤ π, |θ̇| ≤ 8 and the torque clipped at 2.
  Pendulum: (_options, steps) => -(Math.PI ** 2 + 6.4 + 0.004) * steps,
  Acrobot: (_options, steps) => -steps,
  CliffWalking: (_options, steps) => -100 * steps,
  Taxi: (_options, steps) => -10 * steps,
  Blackjack: () => -1,
  Nim: () => -1,
  Pong: () => 0,
  // A collision costs 200 and ends the episode; each turn before it costs 0.5.
  NavigationTrack: (_options, steps) => -200 - 0.5 * (steps - 1),
  InvertedPendulum: () => 0,
  maze: (options, steps, id) => {
    const { columns, rows } = environmentFacts(id, options);
    return (-0.1 * steps) / (Number(columns) * Number(rows));
  },
};

/** Range for FrozenLake. Only the last step can reach a hole or the goal, because these end the episode. */
function lakeRange(options: Options, steps: number): Interval {
  const schedule = option<readonly number[]>(options, 'reward_schedule', [1, 0, 0]);
  const walked = (schedule[2] ?? 0) * (steps - 1);
  return [Math.min(0, walked) + smallest(schedule), Math.max(0, walked) + largest(schedule)];
}
