import type { Action, Environment, Observation, Step } from '../environments/environment.js';
import { type Policy, policyForEpisode } from '../policies/policy.js';

/** The totals of an episode, and how it ended; if it is in progress, both flags are false. */
export interface Episode {
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  /** Number of steps. */
  readonly length: number;
  readonly terminated: boolean;
  /** True if the environment or `maxSteps` cut the episode off. */
  readonly truncated: boolean;
}

/** An episode's recorded steps, as columns; `observations` also contains the final observation. */
export interface Trajectory {
  readonly observations: Observation[];
  readonly actions: Action[];
  readonly rewards: number[];
}

export interface EpisodeTask {
  readonly seed: number;
  readonly record: boolean;
}

export interface PlayedEpisode extends Episode {
  readonly trajectory?: Trajectory;
}

export const emptyTrajectory = (): Trajectory => ({ observations: [], actions: [], rewards: [] });

/** An episode in progress: its last observation and the totals so far. */
export class RunningEpisode {
  #observation: Observation;
  readonly #trajectory: Trajectory | undefined;
  #return = 0;
  #length = 0;
  #terminated = false;
  #truncated = false;

  constructor(observation: Observation, trajectory?: Trajectory) {
    this.#observation = observation;
    this.#trajectory = trajectory;
    trajectory?.observations.push(observation);
  }

  get observation(): Observation {
    return this.#observation;
  }

  get ended(): boolean {
    return this.#terminated || this.#truncated;
  }

  addStep(action: Action, { observation, reward, terminated, truncated }: Step, maxSteps: number): void {
    this.#observation = observation;
    this.#return += reward;
    this.#length++;
    this.#trajectory?.observations.push(observation);
    this.#trajectory?.actions.push(action);
    this.#trajectory?.rewards.push(reward);
    this.#terminated = terminated;
    this.#truncated = truncated || (this.#length >= maxSteps && !terminated);
  }

  result(): PlayedEpisode {
    return {
      return: this.#return,
      length: this.#length,
      terminated: this.#terminated,
      truncated: this.#truncated,
      ...(this.#trajectory && { trajectory: this.#trajectory }),
    };
  }
}

/** Plays one seeded episode; `record` records its steps. `onState` gets the totals after the reset and each step. */
export function rollout(
  environment: Environment,
  policy: Policy,
  options: {
    readonly seed: number;
    readonly maxSteps: number;
    readonly record?: boolean;
    readonly onState?: (episode: Episode) => void;
  },
): PlayedEpisode {
  const { seed, maxSteps, record, onState } = options;
  const episode = new RunningEpisode(environment.reset(seed), record ? emptyTrajectory() : undefined);
  const act = policyForEpisode(policy, seed);
  onState?.(episode.result());
  while (!episode.ended) {
    const action = act(episode.observation);
    episode.addStep(action, environment.step(action), maxSteps);
    onState?.(episode.result());
  }
  return episode.result();
}

/** The actions that a policy chooses for the observations of recorded episodes. */
export const actionsOf = (
  policy: Policy,
  episodes: readonly (readonly Observation[])[],
): readonly (readonly Action[])[] =>
  episodes.map((observations) => {
    const act = policyForEpisode(policy, 0);
    return observations.map((observation) => act(observation));
  });

/** The recorded trajectory of one episode, as columns: a line of `episodes.jsonl`. */
export interface EpisodeRecord {
  readonly iteration: number;
  readonly candidate: number;
  readonly episode: number;
  readonly seed: number;
  /** The policy chose `actions[t]` for `observations[t]`; the final observation has no action. */
  readonly observations: readonly Observation[];
  readonly actions: readonly Action[];
  readonly rewards: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
}
