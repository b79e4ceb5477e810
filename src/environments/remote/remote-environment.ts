import { EnvironmentError } from '../../base/environment-error.js';
import type { Action, Environment, EnvironmentSpec, Observation, Step, TextInfo } from '../environment.js';

export { EnvironmentError, type EnvironmentFailure } from '../../base/environment-error.js';

/** An action for the episode in `slot`. */
export interface Move {
  readonly slot: number;
  readonly action: Action;
}

/** Episodes that advance together, so that one message can contain a step of each episode. */
export interface EpisodeBatch {
  readonly slotCount: number;
  /** Starts one episode per seed, in slots 0, 1, …; earlier episodes are abandoned. @throws EnvironmentError */
  reset(seeds: readonly number[]): Promise<readonly Observation[]>;
  /** Takes one step per move; returns the steps in the order of the moves. @throws EnvironmentError */
  step(moves: readonly Move[]): Promise<readonly Step[]>;
  /** Information about a text world's episode in a slot, as of its last reset or step. */
  readonly info?: ((slot: number) => TextInfo) | undefined;
  /** The player's task in a slot's episode, if known. */
  objective?(slot: number): string | undefined;
  /** Commands that win a slot's episode from its start; empty if unknown. @throws EnvironmentError */
  gold?(slot: number): Promise<readonly string[]>;
}

/** A task in another program. Steps are asynchronous, and one request can step all episodes of a batch. */
export interface RemoteEnvironment extends EnvironmentSpec {
  /** Batches that run in parallel. */
  readonly batches: readonly EpisodeBatch[];
  /** Stops the program or disconnects from it, even in the middle of a step. Closing it again has no effect. */
  close(): Promise<void>;
}

export function isRemote(environment: Environment | RemoteEnvironment): environment is RemoteEnvironment {
  return 'batches' in environment;
}

/** Sends one request at a time to an environment's program. After the first failure, all requests fail. */
export class RequestChannel<Answer> {
  readonly #name: string;
  #pending: { resolve(answer: Answer): void; reject(error: EnvironmentError): void } | undefined;
  #failure: EnvironmentError | undefined;

  /** @param name name of the environment, for messages */
  constructor(name: string) {
    this.#name = name;
  }

  get busy(): boolean {
    return this.#pending !== undefined;
  }

  /** @throws EnvironmentError with the first failure */
  async ask(send: () => void, timeoutMs: number, onTimeout: () => void): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure;
    const timer = setTimeout(onTimeout, timeoutMs);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#pending = { resolve, reject };
        send();
      });
    } finally {
      clearTimeout(timer);
    }
  }

  answer(answer: Answer): void {
    this.#pending?.resolve(answer);
    this.#pending = undefined;
  }

  /** @returns the first failure */
  fail(kind: EnvironmentError['kind'], message: string): EnvironmentError {
    this.#failure ??= new EnvironmentError(kind, `${this.#name}: ${message}`);
    this.#pending?.reject(this.#failure);
    this.#pending = undefined;
    return this.#failure;
  }
}
