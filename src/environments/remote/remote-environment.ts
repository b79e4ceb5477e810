import type { Action, Environment, EnvironmentSpec, Observation, Step } from '../environment.js';

/** An action for the episode in `slot`. */
export interface Move {
  readonly slot: number;
  readonly action: Action;
}

/** Episodes that advance in lock-step, so that one message carries a step of all of them. */
export interface EpisodeBatch {
  /** How many episodes it holds at most. */
  readonly slots: number;
  /**
   * Starts an episode for each seed, in slots 0, 1, …; those before are left.
   * @throws EnvironmentError
   */
  reset(seeds: readonly number[]): Promise<readonly Observation[]>;
  /**
   * Takes one step of each episode named; the answers stand in the order of the moves.
   * @throws EnvironmentError
   */
  step(moves: readonly Move[]): Promise<readonly Step[]>;
}

/**
 * A task that another program plays. A step costs a round trip and can't be waited for synchronously, so that batches of
 * episodes play it; different batches run side by side.
 */
export interface RemoteEnvironment extends EnvironmentSpec {
  readonly batches: readonly EpisodeBatch[];
  /** Ends what plays it, also in the middle of a step. Closing it again does nothing. */
  close(): Promise<void>;
}

export function isRemote(environment: Environment | RemoteEnvironment): environment is RemoteEnvironment {
  return 'batches' in environment;
}

/**
 * How an environment fails: it `raised` an error, gave no answer in time (`timeout`), returned something `invalid` such as
 * NaN, its program or connection ended (`died`), or its answer broke the `protocol`.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/** An environment outside this program failed. The message is for people: one screen, with what that program said last. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly kind: EnvironmentFailure;

  constructor(kind: EnvironmentFailure, message: string) {
    super(message);
    this.kind = kind;
  }
}
