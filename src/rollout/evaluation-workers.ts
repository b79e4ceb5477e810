/** Threads that play episodes, with the same results as the main thread. They start only if that saves time. */

import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { onAbort } from '../base/abortable.js';
import { messageOf, UserError } from '../base/errors.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { type CallSetting, ModuleThread, usualSeconds } from '../modules/module-thread.js';
import { isModulePath } from '../modules/user-module.js';
import type { ParameterVector } from '../policies/policy.js';
import type { PolicyConfig } from '../policies/settings.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';

/** Settings from which a worker creates its environment and policies. */
export interface WorkerSetting {
  readonly environment: Pick<EnvironmentConfig, 'id' | 'options' | 'timeoutSeconds'>;
  readonly policy: PolicyConfig;
  /** Module path from `evaluation.reward`. */
  readonly reward?: string | undefined;
  readonly maxSteps: number;
}

export interface WorkerJob {
  readonly parameters: ParameterVector;
  readonly tasks: readonly EpisodeTask[];
}

/** A thread and the player that `player.ts` creates in it. */
interface Player {
  readonly thread: ModuleThread;
  readonly made: Promise<{
    play(job: WorkerJob): Promise<readonly PlayedEpisode[]>;
    close(): Promise<void>;
  }>;
  /** True after the first job, whose time includes starting the thread. */
  isWarm: boolean;
}

/** Time allowed for users' environments to close their resources. */
const closingMs = 1000;
/** Time to start a worker with the slowest environment (bench/workers.ts). Workers start after this much play time. */
const startMs = 600;
/** Playing a shorter episode here is as fast as sending it to a worker. */
const shortestEpisodeMs = 0.5;

/**
 * @param count number of threads; `auto`: one per core, once playing in this thread has taken as long as starting them
 * @returns undefined for a single thread, unless user modules are involved: they need a thread, which can be stopped
 */
export function createWorkers(setting: WorkerSetting, count: number | 'auto'): EvaluationWorkers | undefined {
  const threads = count === 'auto' ? availableParallelism() : count;
  const { environment, policy, reward } = setting;
  const modules = [environment.id, policy.kind === 'module' ? policy.path : '', reward ?? ''].filter(
    isModulePath,
  );
  if (threads === 1 && modules.length === 0) return undefined;
  return new EvaluationWorkers(setting, threads, count === 'auto', modules);
}

export class EvaluationWorkers {
  readonly #setting: WorkerSetting;
  readonly #onlyIfFaster: boolean;
  readonly #call: CallSetting;
  /** True if user modules are involved; these must not run in this thread. */
  readonly isNeeded: boolean;
  #threads: number;
  #players: Player[] = [];
  #spentMs = 0;
  #played = 0;

  /** @param modules paths of the user modules involved */
  constructor(
    setting: WorkerSetting,
    threads: number,
    onlyIfFaster: boolean,
    modules: readonly string[] = [],
  ) {
    this.#setting = setting;
    this.#threads = threads;
    this.#onlyIfFaster = onlyIfFaster;
    this.isNeeded = modules.length > 0;
    const { id, timeoutSeconds: seconds = usualSeconds } = setting.environment;
    const origin = this.isNeeded ? modules.map((path) => basename(path)).join(', ') : id;
    this.#call = { origin, seconds, later: true };
  }

  get running(): number {
    return this.#players.length;
  }

  /** For evaluations that run in parallel: limits each to one thread, or to none if threads aren't needed. */
  alone(): EvaluationWorkers | undefined {
    this.#threads = 1;
    return this.isNeeded ? this : undefined;
  }

  /** Records the time a thread took to play a number of episodes. */
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

  /** Plays one episode for each task; returns the episodes in task order. */
  async play(
    parameters: ParameterVector,
    tasks: readonly EpisodeTask[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PlayedEpisode[]> {
    signal?.throwIfAborted();
    // If a thread with user modules fails, the run ends; any other thread is restarted.
    const players = this.#players.filter(({ thread }) => this.isNeeded || !thread.ended);
    const threads = Math.min(this.#pays(tasks.length) ? this.#threads : 1, tasks.length);
    while (players.length < threads) players.push(this.#start());
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
    const endWait = onAbort(signal, () => this.#end(players));
    try {
      await Promise.all(players.map(serve));
    } catch (error) {
      this.#end(players);
      signal?.throwIfAborted();
      throw error;
    } finally {
      endWait();
    }
    return results;
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

  /** @throws UserError for an invalid setting; EnvironmentError if the environment or its thread fails */
  async #playIn({ made }: Player, job: WorkerJob): Promise<readonly PlayedEpisode[]> {
    const broken = (message: string) =>
      new EnvironmentError('raised', `${this.#call.origin}: its thread failed: ${message}`);
    try {
      const episodes = await (await made).play(job);
      if (episodes.length === job.tasks.length && episodes.every(isWhole)) return episodes;
    } catch (error) {
      if (!this.isNeeded || error instanceof UserError || error instanceof EnvironmentError) throw error;
      throw broken(messageOf(error));
    }
    throw broken('it returned no episodes');
  }
}

/** Validates an episode: user modules may have tampered with the thread's built-ins. */
const isWhole = ({ length, return: total, terminated, truncated }: PlayedEpisode): boolean =>
  Number.isInteger(length) &&
  typeof total === 'number' &&
  typeof terminated === 'boolean' &&
  typeof truncated === 'boolean';
