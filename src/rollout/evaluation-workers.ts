/** Threads that play episodes, with the same results as the main thread. */
import { availableParallelism } from 'node:os';
import { onAbort } from '../base/abortable.js';
import type { Action } from '../environments/environment.js';
import { ProgramFault } from '../policies/program/program.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';
import { type Observations, PlayerThread, type WorkerPolicy, type WorkerSetup } from './player-thread.js';

/** Time allowed for users' environments to close their resources. */
const closingMs = 1000;
/** Time to start a worker with the slowest environment. With `auto`, extra threads start after this much play time. */
const startMs = 600;
/** With `auto`, shorter episodes are played in a single thread, because sending one to another thread takes as long. */
const minEpisodeMs = 0.5;

/**
 * @param count number of threads; `auto`: one per core if that probably saves time (see `areWorthwhile`)
 * @returns undefined for a single thread, unless programs need a thread that can be stopped
 */
export function createWorkers(setup: WorkerSetup, count: number | 'auto'): EvaluationWorkers | undefined {
  const threadCount = count === 'auto' ? availableParallelism() : count;
  if (threadCount === 1 && setup.policy.kind !== 'program') return undefined;
  return new EvaluationWorkers(setup, threadCount, count === 'auto');
}

export class EvaluationWorkers {
  readonly #setup: WorkerSetup;
  readonly #onlyIfFaster: boolean;
  /** True if policies are programs, which must not run in this thread. */
  readonly isNeeded: boolean;
  #threadCount: number;
  #players: PlayerThread[] = [];
  #spentMs = 0;
  #playedCount = 0;

  constructor(setup: WorkerSetup, threadCount: number, onlyIfFaster: boolean) {
    this.#setup = setup;
    this.#threadCount = threadCount;
    this.#onlyIfFaster = onlyIfFaster;
    this.isNeeded = setup.policy.kind === 'program';
  }

  get runningCount(): number {
    return this.#players.length;
  }

  /** Limits this to one thread, because other runs are playing at the same time. */
  useOneThread(): void {
    this.#threadCount = 1;
  }

  /** Records how long episodes took, from which `areWorthwhile` estimates whether threads save time. */
  recordTime(ms: number, episodeCount = 1): void {
    this.#spentMs += ms;
    this.#playedCount += episodeCount;
  }

  /** True if the threads should play the remaining episodes of an evaluation. */
  areWorthwhile(episodeCount: number): boolean {
    return this.isNeeded || this.#pays(episodeCount);
  }

  #pays(episodeCount: number): boolean {
    if (!this.#onlyIfFaster) return true;
    return episodeCount > 1 && this.#spentMs >= startMs && this.#spentMs / this.#playedCount >= minEpisodeMs;
  }

  /**
   * Plays one episode for each task, and returns the episodes in task order.
   * @throws EnvironmentError, ProgramFault, UserError for an invalid setting or policy module, or the signal's reason
   */
  async play(
    policy: WorkerPolicy,
    tasks: readonly EpisodeTask[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PlayedEpisode[]> {
    signal?.throwIfAborted();
    const players = this.#launch(Math.min(this.#pays(tasks.length) ? this.#threadCount : 1, tasks.length));
    const results: PlayedEpisode[] = Array.from({ length: tasks.length });
    let next = 0;
    const faults: ProgramFault[] = [];
    const playOnThread = async (player: PlayerThread): Promise<void> => {
      while (next < tasks.length) {
        const firstIndex = next;
        const remaining = tasks.length - firstIndex;
        next += players.length === 1 ? remaining : Math.ceil(remaining / (4 * players.length));
        const playStartMs = performance.now();
        const episodes = await player.play(policy, tasks.slice(firstIndex, next)).catch((error: unknown) => {
          if (!(error instanceof ProgramFault)) throw error;
          // A program that fails leaves its thread intact.
          faults[firstIndex] = error;
          next = tasks.length;
          return [];
        });
        if (player.isWarm) this.recordTime(performance.now() - playStartMs, episodes.length);
        player.isWarm = true;
        for (const [i, episode] of episodes.entries()) results[firstIndex + i] = episode;
      }
    };
    const endWait = onAbort(signal, () => this.#end(players));
    try {
      await Promise.all(players.map(playOnThread));
    } catch (error) {
      next = tasks.length;
      this.#end(players);
      signal?.throwIfAborted();
      throw error;
    } finally {
      endWait();
    }
    // The fault of the first episode that failed, whichever thread was faster.
    const [fault] = Object.values(faults);
    if (fault !== undefined) throw fault;
    return results;
  }

  /** The actions that a policy chooses for recorded observations, by episode. @throws like `PlayerThread.play` */
  async actions(policy: WorkerPolicy, episodes: Observations): Promise<readonly (readonly Action[])[]> {
    return this.#launch(1)[0]!.actions(policy, episodes);
  }

  /** Returns at least this many players; replaces ended threads. */
  #launch(threadCount: number): PlayerThread[] {
    const players = this.#players.filter(({ ended }) => !ended);
    while (players.length < threadCount) players.push(new PlayerThread(this.#setup));
    this.#players = players;
    return players;
  }

  /** Stops the threads, even in the middle of an episode. They restart when needed. */
  async close(): Promise<void> {
    const players = this.#players;
    const idlePlayers = players.filter(({ isBusy, isWarm }) => isWarm && !isBusy);
    const timer = setTimeout(() => this.#end(players), closingMs);
    await Promise.allSettled(idlePlayers.map((player) => player.closeEnvironment()));
    clearTimeout(timer);
    this.#end(players);
  }

  #end(players: readonly PlayerThread[]): void {
    if (this.#players === players) this.#players = [];
    for (const player of players) player.end();
  }
}
