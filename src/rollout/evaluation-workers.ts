/** Threads that play episodes, with the same results as in this thread; they start when that pays. */

import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { onAbort } from '../base/abortable.js';
import { type Problem, UserError } from '../base/errors.js';
import { EnvironmentError, type EnvironmentFailure } from '../environments/remote/remote-environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import type { ParameterVector } from '../policies/policy.js';
import type { PolicyConfig } from '../policies/settings.js';
import { startThread } from '../storage/thread.js';
import type { EpisodeTask, PlayedEpisode } from './episode.js';

/** What a worker makes its environment and policies from. */
export interface WorkerSetting {
  readonly environment: Pick<EnvironmentConfig, 'id' | 'options'>;
  readonly policy: PolicyConfig;
  /** Path of the module of `evaluation.reward`. */
  readonly reward?: string | undefined;
  readonly maxSteps: number;
}

export interface WorkerJob {
  readonly parameters: ParameterVector;
  readonly task: EpisodeTask;
}

export type WorkerAnswer =
  | { readonly kind: 'played'; readonly episode: PlayedEpisode }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  | { readonly kind: 'failed'; readonly failure: EnvironmentFailure; readonly message: string };

/** Cost of starting a worker with the slowest environments (see bench/workers.ts): workers pay after as much time without them. */
const startMs = 600;
/** Sending a shorter episode to a worker would take as long as playing it here. */
const shortestEpisodeMs = 0.5;

/**
 * @param count of threads; `auto`: one a core, once this thread has spent on episodes what starting them costs, and
 *   unless episodes are so short that they are better played here. Undefined for 1.
 */
export function createWorkers(setting: WorkerSetting, count: number | 'auto'): EvaluationWorkers | undefined {
  const threads = count === 'auto' ? availableParallelism() : count;
  return threads === 1 ? undefined : new EvaluationWorkers(setting, threads, count === 'auto');
}

export class EvaluationWorkers {
  readonly #setting: WorkerSetting;
  readonly #threads: number;
  readonly #onlyWherePays: boolean;
  #workers: Worker[] = [];
  #spentMs = 0;
  #played = 0;

  constructor(setting: WorkerSetting, threads: number, onlyWherePays: boolean) {
    this.#setting = setting;
    this.#threads = threads;
    this.#onlyWherePays = onlyWherePays;
  }

  /** How many threads there are now. */
  get running(): number {
    return this.#workers.length;
  }

  /** Counts an episode that this thread played, and how long it took. */
  count(ms: number): void {
    this.#spentMs += ms;
    this.#played++;
  }

  /** Whether the threads should play the episodes that are left of an evaluation. */
  wanted(episodes: number): boolean {
    if (!this.#onlyWherePays) return true;
    return episodes > 1 && this.#spentMs >= startMs && this.#spentMs / this.#played >= shortestEpisodeMs;
  }

  /** Plays one episode for each task; the episodes come back in the order of the tasks. */
  async play(
    parameters: ParameterVector,
    tasks: readonly EpisodeTask[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PlayedEpisode[]> {
    signal?.throwIfAborted();
    // A thread that has ended since (its id is then -1) would never answer.
    const players = this.#workers.filter(({ threadId }) => threadId !== -1);
    while (players.length < Math.min(this.#threads, tasks.length)) players.push(startWorker(this.#setting));
    this.#workers = players;
    const results: PlayedEpisode[] = Array.from({ length: tasks.length });
    let next = 0;
    const serve = async (worker: Worker): Promise<void> => {
      while (next < tasks.length) {
        const index = next++;
        results[index] = await playIn(worker, { parameters, task: tasks[index]! });
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
  close(): Promise<void> {
    return this.#end(this.#workers);
  }

  async #end(ended: readonly Worker[]): Promise<void> {
    if (this.#workers === ended) this.#workers = [];
    await Promise.all(ended.map((worker) => worker.terminate()));
  }
}

/** @throws UserError for what the environment refuses; any other error of the worker */
async function playIn(worker: Worker, job: WorkerJob): Promise<PlayedEpisode> {
  worker.ref();
  try {
    const answer = await new Promise<WorkerAnswer>((resolve, reject) => {
      const ended = (code: number) => reject(new Error(`a worker ended with exit code ${code}`));
      worker.removeAllListeners();
      worker.once('message', resolve).once('error', reject).once('exit', ended);
      worker.postMessage(job);
    });
    if (answer.kind === 'refused') throw new UserError(answer.problems);
    if (answer.kind === 'failed') throw new EnvironmentError(answer.failure, answer.message);
    return answer.episode;
  } finally {
    worker.unref();
  }
}

function startWorker(workerData: WorkerSetting): Worker {
  const worker = startThread(new URL('./evaluation-worker', import.meta.url), workerData);
  // Only a worker that plays keeps the process alive.
  worker.unref();
  return worker;
}
