import type { Action, Environment, Observation } from '../environments/environment.js';
import type { Policy } from '../policies/policy.js';

/** One finished episode. */
export interface Episode {
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  /** Steps taken. */
  readonly length: number;
  readonly terminated: boolean;
  /** Cut by the environment's time limit or by `maxSteps`. */
  readonly truncated: boolean;
}

/** Columns that `rollout` fills: observations has one item more than the others. */
export interface Trajectory {
  readonly observations: Observation[];
  readonly actions: Action[];
  readonly rewards: number[];
}

/** An episode to be played. */
export interface EpisodeTask {
  readonly seed: number;
  /** Whether its trajectory is wanted. */
  readonly record: boolean;
}

/** An episode with its trajectory, where that was wanted. */
export interface PlayedEpisode extends Episode {
  readonly trajectory?: Trajectory;
}

export function playEpisode(
  environment: Environment,
  policy: Policy,
  { seed, record }: EpisodeTask,
  maxSteps: number,
): PlayedEpisode {
  if (!record) return rollout(environment, policy, { seed, maxSteps });
  const trajectory: Trajectory = { observations: [], actions: [], rewards: [] };
  return { ...rollout(environment, policy, { seed, maxSteps, record: trajectory }), trajectory };
}

/** Plays one episode, seeded; `record` is filled where it is given. */
export function rollout(
  environment: Environment,
  policy: Policy,
  options: { readonly seed: number; readonly maxSteps: number; readonly record?: Trajectory },
): Episode {
  const { seed, maxSteps, record } = options;
  let observation = environment.reset(seed);
  record?.observations.push(observation);
  let total = 0;
  for (let length = 1; ; length++) {
    const action = policy(observation);
    const step = environment.step(action);
    observation = step.observation;
    total += step.reward;
    if (record !== undefined) {
      record.observations.push(observation);
      record.actions.push(action);
      record.rewards.push(step.reward);
    }
    const truncated = step.truncated || (length >= maxSteps && !step.terminated);
    if (step.terminated || truncated)
      return { return: total, length, terminated: step.terminated, truncated };
  }
}

/** The recorded trajectory of one episode, by columns: a line of `episodes.jsonl`. */
export interface EpisodeRecord {
  readonly iteration: number;
  readonly candidate: number;
  readonly episode: number;
  readonly seed: number;
  /** observations[t] is what the policy saw before actions[t]; one more at the end. */
  readonly observations: readonly (number | readonly number[])[];
  readonly actions: readonly (number | readonly number[])[];
  readonly rewards: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
}
