/** A thread that plays episodes; `player.ts` is the code inside it. */
import type { Worker } from 'node:worker_threads';
import { EnvironmentError, type EnvironmentFailure } from '../base/environment-error.js';
import { messageOf, type Problem, UserError } from '../base/errors.js';
import { startThread } from '../base/files/thread.js';
import type { Action, Observation } from '../environments/environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import type { ParameterVector } from '../policies/policy.js';
import { type ProgramFailure, ProgramFault } from '../policies/program/program.js';
import type { PolicyConfig } from '../policies/settings.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';

/** Settings from which a thread creates its environment and policies. */
export interface WorkerSetup {
  readonly environment: Pick<EnvironmentConfig, 'id' | 'options'>;
  readonly policy: PolicyConfig;
  /** Module path from `evaluation.reward`. */
  readonly reward?: string | undefined;
  readonly maxSteps: number;
}

/** A policy in the form that is sent to threads. */
export interface WorkerPolicy {
  readonly parameters: ParameterVector;
  /** Source of the program, if policies are programs. */
  readonly program?: string | undefined;
}

export type Observations = readonly (readonly Observation[])[];

export type PlayerRequest =
  | { readonly kind: 'play'; readonly policy: WorkerPolicy; readonly tasks: readonly EpisodeTask[] }
  | { readonly kind: 'actions'; readonly policy: WorkerPolicy; readonly episodes: Observations }
  | { readonly kind: 'close' };

/** Responses arrive in the order of the requests. */
export type PlayerResponse = { readonly value: unknown } | { readonly error: SerializedError };

type SerializedError =
  | { readonly problems: readonly Problem[] }
  | { readonly kind: EnvironmentFailure; readonly message: string }
  | { readonly failure: ProgramFailure }
  | { readonly message: string };

export function serializeError(error: unknown): SerializedError {
  if (error instanceof UserError) return { problems: error.problems };
  if (error instanceof EnvironmentError) return { kind: error.kind, message: error.message };
  if (error instanceof ProgramFault) return { failure: error.failure };
  return { message: messageOf(error) };
}

function deserializeError(error: SerializedError): Error {
  if ('problems' in error) return new UserError(error.problems);
  if ('failure' in error) return new ProgramFault(error.failure);
  return 'kind' in error ? new EnvironmentError(error.kind, error.message) : new Error(error.message);
}

export class PlayerThread {
  readonly #worker: Worker;
  readonly #pending: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
  #failure: Error | undefined;
  /** True once it has played. The first `play` isn't timed, because it can include starting the thread. */
  isWarm = false;

  constructor(setup: WorkerSetup) {
    this.#worker = startThread(new URL('./player', import.meta.url), setup);
    this.#worker.on('message', (reply: PlayerResponse) => {
      const request = this.#pending.shift();
      if (this.#pending.length === 0) this.#worker.unref();
      // A thread may still reply while it is being terminated.
      if ('error' in reply) request?.reject(deserializeError(reply.error));
      else request?.resolve(reply.value);
    });
    this.#worker.on('error', ({ message }) => this.#fail(message));
    this.#worker.on('exit', (code) => this.#fail(`exit code ${code}`));
    // Only requests keep the process alive.
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#failure !== undefined;
  }

  get isBusy(): boolean {
    return this.#pending.length > 0;
  }

  /** @throws EnvironmentError, ProgramFault or UserError; Error if the thread was ended */
  play(policy: WorkerPolicy, tasks: readonly EpisodeTask[]): Promise<readonly PlayedEpisode[]> {
    return this.#ask({ kind: 'play', policy, tasks }) as Promise<readonly PlayedEpisode[]>;
  }

  /** The actions that a policy chooses for recorded observations, by episode. @throws like `play` */
  actions(policy: WorkerPolicy, episodes: Observations): Promise<readonly (readonly Action[])[]> {
    return this.#ask({ kind: 'actions', policy, episodes }) as Promise<readonly (readonly Action[])[]>;
  }

  async closeEnvironment(): Promise<void> {
    await this.#ask({ kind: 'close' });
  }

  /** Ends the thread, even in the middle of an episode. */
  end(reason: Error = new Error('the thread was ended')): void {
    this.#failure ??= reason;
    for (const { reject } of this.#pending.splice(0)) reject(this.#failure);
    void this.#worker.terminate();
  }

  #fail(message: string): void {
    this.end(new EnvironmentError('died', `a thread that played episodes ended: ${message}`));
  }

  async #ask(request: PlayerRequest): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#worker.ref();
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#worker.postMessage(request);
    });
  }
}
