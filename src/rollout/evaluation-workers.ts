/** Threads that play episodes, with the same results as the main thread. */

import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { onAbort } from '../base/abortable.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Action, Observation } from '../environments/environment.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { type CallSetting, ModuleThread, usualSeconds } from '../modules/module-thread.js';
import { isModulePath } from '../modules/user-module.js';
import type { ParameterVector } from '../policies/policy.js';
import type { PolicyConfig } from '../policies/settings.js';
import { isProgramFault, killedFault, programSeconds } from '../programs/program.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';

/** Settings from which a worker creates its environment and policies. */
export interface WorkerSetting {
  readonly environment: Pick<EnvironmentConfig, 'id' | 'options' | 'timeoutSeconds'>;
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

export interface WorkerJob extends WorkerPolicy {
  readonly tasks: readonly EpisodeTask[];
}

export type Observations = readonly (readonly Observation[])[];

/** A thread and the player that `player.ts` creates in it. */
interface Player {
  readonly thread: ModuleThread;
  readonly made: Promise<{
    play(job: WorkerJob): Promise<readonly PlayedEpisode[]>;
    actions(policy: WorkerPolicy, episodes: Observations): Promise<readonly (readonly Action[])[]>;
    close(): Promise<void>;
  }>;
  /** True after the first job, which isn't timed because it includes starting the thread. */
  isWarm: boolean;
}

/** Time allowed for users' environments to close their resources. */
const closingMs = 1000;
/** Time to start a worker with the slowest environment (bench/workers.ts). Workers start after this much play time. */
const startMs = 600;
/** Shorter episodes are played in this thread, because sending them to a worker takes about as long as playing them. */
const shortestEpisodeMs = 0.5;

/**
 * @param count number of threads; `auto`: one per core, once playing in this thread has taken as long as starting them
 * @returns undefined for a single thread, unless user modules or programs need a thread that can be stopped
 */
export function createWorkers(setting: WorkerSetting, count: number | 'auto'): EvaluationWorkers | undefined {
  const threads = count === 'auto' ? availableParallelism() : count;
  const { environment, policy, reward } = setting;
  const modules = [environment.id, policy.kind === 'module' ? policy.path : '', reward ?? ''].filter(
    isModulePath,
  );
  if (threads === 1 && modules.length === 0 && policy.kind !== 'program') return undefined;
  return new EvaluationWorkers(setting, threads, count === 'auto', modules);
}

export class EvaluationWorkers {
  readonly #setting: WorkerSetting;
  readonly #onlyIfFaster: boolean;
  readonly #call: CallSetting;
  /** True if there are user modules or programs, which must not run in this thread. */
  readonly isNeeded: boolean;
  readonly #hasModules: boolean;
  readonly #hasPrograms: boolean;
  #threads: number;
  #players: Player[] = [];
  #spentMs = 0;
  #played = 0;

  /** @param modules paths of the user modules that the threads load */
  constructor(
    setting: WorkerSetting,
    threads: number,
    onlyIfFaster: boolean,
    modules: readonly string[] = [],
  ) {
    this.#setting = setting;
    this.#threads = threads;
    this.#onlyIfFaster = onlyIfFaster;
    this.#hasPrograms = setting.policy.kind === 'program';
    this.#hasModules = modules.length > 0;
    this.isNeeded = this.#hasModules || this.#hasPrograms;
    const usual = this.#hasModules ? usualSeconds : programSeconds;
    const { id, timeoutSeconds: seconds = usual } = setting.environment;
    const origin = this.#hasModules ? modules.map((path) => basename(path)).join(', ') : id;
    this.#call = { origin, seconds, later: true };
  }

  get running(): number {
    return this.#players.length;
  }

  /** Limits this to one thread, for evaluations that run in parallel. Returns undefined if no thread is needed. */
  alone(): EvaluationWorkers | undefined {
    this.#threads = 1;
    return this.isNeeded ? this : undefined;
  }

  /** Records how long episodes took, from which `wanted` estimates whether threads save time. */
  count(ms: number, episodes = 1): void {
    this.#spentMs += ms;
    this.#played += episodes;
  }

  /** True if the threads should play the remaining `episodes` of an evaluation. */
  wanted(episodes: number): boolean {
    return this.isNeeded || this.#pays(episodes);
  }

  #pays(episodes: number): boolean {
    if (!this.#onlyIfFaster) return true;
    return episodes > 1 && this.#spentMs >= startMs && this.#spentMs / this.#played >= shortestEpisodeMs;
  }

  /**
   * Plays one episode for each task, and returns the episodes in task order.
   * @throws EnvironmentError, ProgramFault, UserError for an invalid setting, or the signal's reason
   */
  async play(
    policy: WorkerPolicy,
    tasks: readonly EpisodeTask[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PlayedEpisode[]> {
    signal?.throwIfAborted();
    const players = this.#running(Math.min(this.#pays(tasks.length) ? this.#threads : 1, tasks.length));
    const results: PlayedEpisode[] = Array.from({ length: tasks.length });
    let next = 0;
    const serve = async (player: Player): Promise<void> => {
      while (next < tasks.length) {
        const first = next;
        const left = tasks.length - first;
        next += players.length === 1 ? left : Math.ceil(left / (4 * players.length));
        const started = performance.now();
        const episodes = await this.#playIn(player, { ...policy, tasks: tasks.slice(first, next) });
        if (player.isWarm) this.count(performance.now() - started, episodes.length);
        player.isWarm = true;
        for (const [i, episode] of episodes.entries()) results[first + i] = episode;
      }
    };
    const endWait = onAbort(signal, () => this.#end(players));
    try {
      await Promise.all(players.map(serve));
    } catch (error) {
      next = tasks.length;
      // A program that throws leaves its thread intact.
      if (!isProgramFault(error) || players.some(({ thread }) => thread.ended)) this.#end(players);
      signal?.throwIfAborted();
      throw error;
    } finally {
      endWait();
    }
    return results;
  }

  /** The actions that a policy chooses for recorded observations, by episode. @throws like `play` */
  async actions(policy: WorkerPolicy, episodes: Observations): Promise<readonly (readonly Action[])[]> {
    const players = this.#running(1);
    try {
      return await this.#asked(async () => (await players[0]!.made).actions(policy, episodes));
    } catch (error) {
      if (players.some(({ thread }) => thread.ended)) this.#end(players);
      throw error;
    }
  }

  /** Returns at least this many players. Replaces ended threads, except with user modules: then the run must end. */
  #running(threads: number): Player[] {
    const players = this.#players.filter(({ thread }) => this.#hasModules || !thread.ended);
    while (players.length < threads) players.push(this.#start());
    this.#players = players;
    return players;
  }

  /** Stops the threads, even in the middle of an episode. They restart when needed. */
  async close(): Promise<void> {
    const players = this.#players;
    const closing = players.map(async ({ made, thread }) => {
      if (this.isNeeded && !thread.isBusy) await (await made).close();
    });
    const timer = setTimeout(() => this.#end(players), closingMs);
    await Promise.allSettled(closing);
    clearTimeout(timer);
    this.#end(players);
  }

  #end(ended: readonly Player[]): void {
    if (this.#players === ended) this.#players = [];
    for (const { thread } of ended) thread.close();
  }

  #start(): Player {
    const thread = new ModuleThread();
    const load = { path: { own: 'rollout/player' }, as: 'helpers', field: 'environment' } as const;
    const made = thread
      .load(load, this.#call)
      .then(({ create }) => create(this.#setting, 'environment')) as Player['made'];
    made.catch(() => undefined);
    return { thread, made, isWarm: false };
  }

  async #playIn({ made }: Player, job: WorkerJob): Promise<readonly PlayedEpisode[]> {
    const episodes = await this.#asked(async () => (await made).play(job));
    if (episodes.length === job.tasks.length && episodes.every(isWhole)) return episodes;
    throw this.#broken('it returned invalid episodes');
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      // Without user modules, only the program can have stopped its thread.
      const isKilled = this.#hasPrograms && !this.#hasModules && error instanceof EnvironmentError;
      if (isKilled && error.kind !== 'invalid' && error.kind !== 'raised') throw killedFault();
      const isKnown = error instanceof UserError || error instanceof EnvironmentError;
      if (!this.isNeeded || isKnown || isProgramFault(error)) throw error;
      throw this.#broken(messageOf(error));
    }
  }

  #broken(message: string): EnvironmentError {
    return new EnvironmentError('raised', `${this.#call.origin}: its thread failed: ${message}`);
  }
}

/** Checks an episode's form: user modules may have tampered with the thread's built-ins. */
const isWhole = ({ length, return: total, terminated, truncated }: PlayedEpisode): boolean =>
  Number.isInteger(length) &&
  typeof total === 'number' &&
  typeof terminated === 'boolean' &&
  typeof truncated === 'boolean';
