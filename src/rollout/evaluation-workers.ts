/** Threads that play episodes, with the same results as in this thread; they start when that pays. */

import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { onAbort } from '../base/abortable.js';
import { type Problem, UserError } from '../base/errors.js';
import { EnvironmentError, type EnvironmentFailure } from '../environments/remote/remote-environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { usualSeconds } from '../modules/module-thread.js';
import { watchPulse } from '../modules/pulse.js';
import { isModulePath } from '../modules/user-module.js';
import type { ParameterVector } from '../policies/policy.js';
import type { PolicyConfig } from '../policies/settings.js';
import { startThread } from '../storage/thread.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';

/** What a worker makes its environment and policies from. */
export interface WorkerSetting {
  readonly environment: Pick<EnvironmentConfig, 'id' | 'options' | 'timeoutSeconds'>;
  readonly policy: PolicyConfig;
  /** Path of the module of `evaluation.reward`. */
  readonly reward?: string | undefined;
  readonly maxSteps: number;
  /** Where users' modules take part: memory in which the thread tells what of them it calls. */
  readonly pulse?: Int32Array;
}

export interface WorkerJob {
  readonly parameters: ParameterVector;
  readonly tasks: readonly EpisodeTask[];
}

export type WorkerAnswer =
  | { readonly kind: 'played'; readonly episodes: readonly PlayedEpisode[] }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  | { readonly kind: 'failed'; readonly failure: EnvironmentFailure; readonly message: string }
  /** A module broke the thread: the message does not say which. */
  | { readonly kind: 'broken'; readonly failure: EnvironmentFailure; readonly message: string };

/** Cost of starting a worker with the slowest environments (see bench/workers.ts): workers pay after as much time without them. */
const startMs = 600;
const closingMs = 1000;
/** Sending a shorter episode to a worker would take as long as playing it here. */
const shortestEpisodeMs = 0.5;

/**
 * @param count of threads; `auto`: one a core, once this thread has spent on episodes what starting them costs, and
 *   unless episodes are so short that they are better played here. Undefined for 1, unless users' modules take part:
 *   these are played in threads always, where they can be stopped.
 */
export function createWorkers(setting: WorkerSetting, count: number | 'auto'): EvaluationWorkers | undefined {
  const threads = count === 'auto' ? availableParallelism() : count;
  const { environment, policy, reward } = setting;
  const modules = [
    ...(isModulePath(environment.id) ? [environment.id] : []),
    ...(policy.kind === 'module' ? [policy.path] : []),
    ...(reward === undefined ? [] : [reward]),
  ].map((path) => basename(path));
  if (threads === 1 && modules.length === 0) return undefined;
  return new EvaluationWorkers(setting, threads, count === 'auto', modules);
}

/** A thread, and what ended it. */
interface Player {
  readonly worker: Worker;
  readonly pulse: Int32Array | undefined;
  failure?: EnvironmentError;
  /** Whether it has played: its start counts for no episode. */
  isWarm: boolean;
}

export class EvaluationWorkers {
  readonly #setting: WorkerSetting;
  readonly #onlyWherePays: boolean;
  /** Files of users' modules that take part. */
  readonly #modules: readonly string[];
  #threads: number;
  #players: Player[] = [];
  #spentMs = 0;
  #played = 0;

  constructor(
    setting: WorkerSetting,
    threads: number,
    onlyWherePays: boolean,
    modules: readonly string[] = [],
  ) {
    this.#setting = setting;
    this.#threads = threads;
    this.#onlyWherePays = onlyWherePays;
    this.#modules = modules;
  }

  /** How many threads there are now. */
  get running(): number {
    return this.#players.length;
  }

  /** Whether no other thread may play the episodes. */
  get isNeeded(): boolean {
    return this.#modules.length > 0;
  }

  /** A single thread, where one is needed: others are at work beside it. */
  alone(): EvaluationWorkers | undefined {
    this.#threads = 1;
    return this.isNeeded ? this : undefined;
  }

  /** Counts episodes that were played one after the other, and how long they took. */
  count(ms: number, episodes = 1): void {
    this.#spentMs += ms;
    this.#played += episodes;
  }

  /** Whether the threads should play the episodes that are left of an evaluation. */
  wanted(episodes: number): boolean {
    return this.isNeeded || !this.#onlyWherePays || this.#pays(episodes);
  }

  #pays(episodes: number): boolean {
    return episodes > 1 && this.#spentMs >= startMs && this.#spentMs / this.#played >= shortestEpisodeMs;
  }

  /** Plays one episode for each task; the episodes come back in the order of the tasks. */
  async play(
    parameters: ParameterVector,
    tasks: readonly EpisodeTask[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PlayedEpisode[]> {
    signal?.throwIfAborted();
    // What ended a thread of users' modules ends the run; any other is started again.
    for (const { failure } of this.#players) if (failure !== undefined && this.isNeeded) throw failure;
    const many = !this.#onlyWherePays || this.#pays(tasks.length);
    const players = this.#players.filter(({ failure }) => failure === undefined);
    while (players.length < Math.min(many ? this.#threads : 1, tasks.length)) players.push(this.#start());
    this.#players = players;
    const results: PlayedEpisode[] = Array.from({ length: tasks.length });
    let next = 0;
    const serve = async (player: Player): Promise<void> => {
      while (next < tasks.length) {
        const first = next;
        const left = tasks.length - first;
        next += players.length === 1 ? left : Math.ceil(left / (4 * players.length));
        const started = performance.now();
        const episodes = await this.#playIn(player, { parameters, tasks: tasks.slice(first, next) });
        if (player.isWarm) this.count(performance.now() - started, episodes.length);
        player.isWarm = true;
        for (const [i, episode] of episodes.entries()) results[first + i] = episode;
      }
    };
    const endWait = onAbort(signal, () => void this.#end(players));
    try {
      await Promise.all(players.map(serve));
    } catch (error) {
      await this.#end(players);
      signal?.throwIfAborted();
      throw error;
    } finally {
      endWait();
    }
    return results;
  }

  /** Ends the threads, also in the middle of an episode. They start again when they are needed. */
  async close(): Promise<void> {
    if (this.isNeeded) {
      // Environments of users close what they have open.
      const closing = this.#players.filter(({ failure }) => failure === undefined);
      await Promise.all(closing.map(({ worker }) => closed(worker)));
    }
    await this.#end(this.#players);
  }

  async #end(ended: readonly Player[]): Promise<void> {
    if (this.#players === ended) this.#players = [];
    await Promise.all(ended.map(({ worker }) => worker.terminate()));
  }

  #start(): Player {
    const pulse = this.isNeeded ? new Int32Array(new SharedArrayBuffer(4)) : undefined;
    const setting: WorkerSetting = { ...this.#setting, ...(pulse && { pulse }) };
    const worker = startThread(new URL('./evaluation-worker', import.meta.url), setting);
    const player: Player = { worker, pulse, isWarm: false };
    const fail = (message: string) => {
      player.failure ??= this.#failure('died', message);
    };
    worker.on('error', ({ message }) => fail(`its thread ended: ${message}`));
    worker.on('exit', (code) => fail(`its thread ended with exit code ${code}`));
    worker.on('message', (answer: WorkerAnswer) => {
      if (answer.kind === 'broken' && answer.failure === 'died') fail(answer.message);
    });
    // Only a worker that plays keeps the process alive.
    worker.unref();
    return player;
  }

  #failure(kind: EnvironmentFailure, message: string): EnvironmentError {
    const origin = this.#modules.length > 0 ? this.#modules.join(', ') : this.#setting.environment.id;
    return new EnvironmentError(kind, `${origin}: ${message}`);
  }

  /** @throws UserError for what the environment refuses; EnvironmentError where it fails, or its thread */
  async #playIn(player: Player, job: WorkerJob): Promise<readonly PlayedEpisode[]> {
    const { pulse, worker } = player;
    const seconds = this.#setting.environment.timeoutSeconds ?? usualSeconds;
    worker.ref();
    let endWatch = () => {};
    let settle = (_: WorkerAnswer | undefined) => {};
    const ended = () => settle(undefined);
    try {
      const answer = await new Promise<WorkerAnswer | undefined>((resolve) => {
        settle = resolve;
        worker.on('message', settle).on('exit', ended);
        if (pulse !== undefined) {
          endWatch = watchPulse(pulse, seconds, (call) => {
            player.failure = this.#failure('timeout', `${call} did not return within ${seconds} s`);
            settle(undefined);
          });
        }
        worker.postMessage(job);
        if (player.failure !== undefined) settle(undefined);
      });
      if (answer === undefined) throw player.failure ?? this.#failure('died', 'its thread ended');
      if (answer.kind === 'refused') throw new UserError(answer.problems);
      if (answer.kind === 'broken') throw this.#failure(answer.failure, answer.message);
      if (answer.kind === 'failed') throw new EnvironmentError(answer.failure, answer.message);
      if (answer.episodes.length === job.tasks.length && answer.episodes.every(isWhole))
        return answer.episodes;
      throw this.#failure('invalid', 'it plays no episodes: a module has replaced what they are made with');
    } finally {
      endWatch();
      worker.off('message', settle).off('exit', ended).unref();
    }
  }
}

/** Whether an episode is one, whatever modules did to the language in their thread. */
const isWhole = ({ length, return: total, terminated, truncated }: PlayedEpisode): boolean =>
  Number.isInteger(length) &&
  typeof total === 'number' &&
  typeof terminated === 'boolean' &&
  typeof truncated === 'boolean';

/** Asks a thread to close what it has open and to end. */
async function closed(worker: Worker): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, closingMs);
    worker.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    worker.postMessage('close');
  });
}
