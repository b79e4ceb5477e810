/** Known bounds on the return of an episode. */

import { type Interval, realLine } from '../../statistics/bootstrap.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { toSnakeCase } from '../options.js';
import type { EnvironmentConfig } from '../settings.js';
import { entryFor, environmentFacts, type Options, option } from './facts.js';
import { environmentInfo, isBuiltInId } from './open.js';
import { replacementFor } from './versions.js';

/** Returns the inclusive range of an episode's return; ±Infinity if unknown, e.g. if the run sets its own `reward`. */
export function returnRange(
  environment: Pick<EnvironmentConfig, 'id' | 'options'>,
  { maxSteps, reward }: { readonly maxSteps: number; readonly reward?: unknown },
): Interval {
  const { id } = environment;
  if (reward !== undefined || !isBuiltInId(id)) return realLine;
  const options = toSnakeCase(environment.options);
  const ownLimit = option<number | undefined>(options, 'max_episode_steps', environmentInfo(id).maxSteps);
  const steps = ownLimit === undefined || ownLimit === -1 ? maxSteps : Math.min(ownLimit, maxSteps);
  return entryFor(returnRanges, replacementFor(id)?.id ?? id)?.(options, steps, id) ?? realLine;
}

const infinity = Number.POSITIVE_INFINITY;

/** @param steps step limit of an episode */
const returnRanges: Readonly<Record<string, (options: Options, steps: number, id: string) => Interval>> = {
  CartPole: (options, steps) => (option(options, 'sutton_barto_reward', false) ? [-1, 0] : [1, steps]),
  MountainCar: (_options, steps) => [-steps, -1],
  // The costs of actions are unbounded here and in Reacher, because they use the unclipped actions.
  MountainCarContinuous: () => [-infinity, 100],
  // θ² + 0.1 θ̇² + 0.001 u², with |θ| ≤ π, |θ̇| ≤ 8 and the torque clipped at 2.
  Pendulum: (_options, steps) => [-(Math.PI ** 2 + 6.4 + 0.004) * steps, 0],
  Acrobot: (_options, steps) => [-steps, 0],
  // Only the last step can reach a hole or the goal, because these end the episode.
  FrozenLake: (options, steps) => {
    const schedule = option<readonly number[]>(options, 'reward_schedule', [1, 0, 0]);
    const walkReturn = (schedule[2] ?? 0) * (steps - 1);
    return [Math.min(0, walkReturn) + smallest(schedule), Math.max(0, walkReturn) + largest(schedule)];
  },
  // The shortest path has 13 steps; on slippery ground, a lucky agent can still follow it.
  CliffWalking: (_options, steps) => [-100 * steps, Math.max(-13, -steps)],
  // The delivery earns 20 and ends the episode; all other steps have a cost of up to 10.
  Taxi: (_options, steps) => [-10 * steps, 20],
  Blackjack: (options) => [-1, option(options, 'natural', false) && !option(options, 'sab', true) ? 1.5 : 1],
  Nim: () => [-1, 1],
  Pong: (_options, steps) => [0, steps <= 1000 ? 3 : infinity],
  // A collision costs 200 and ends the episode; each turn before it costs 0.5.
  NavigationTrack: (_options, steps) => [-200 - 0.5 * (steps - 1), 5 * steps],
  Reacher: (options) => {
    const isCost = ['reward_dist_weight', 'reward_control_weight'].every(
      (name) => option(options, name, 1) >= 0,
    );
    return [-infinity, isCost ? 0 : infinity];
  },
  InvertedPendulum: (_options, steps) => [0, steps],
  // A step earns at most the healthy reward minus (y - 2)², with the tip's height y ≤ 1.2. Speed costs are unbounded.
  InvertedDoublePendulum: (options, steps) => {
    const best = option(options, 'healthy_reward', 10) - 0.64;
    return [-infinity, Math.max(0, best * steps)];
  },
  maze: (options, steps, id) => {
    const { columns, rows } = environmentFacts(id, options);
    return [(-0.1 * steps) / (Number(columns) * Number(rows)), 1];
  },
};
