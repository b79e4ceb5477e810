import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Environment } from '../environments/environment.js';
import type { Policy } from '../policies/policy.js';
import { type EpisodeTask, emptyTrajectory, type PlayedEpisode, RunningEpisode } from './episode.js';

/** Longest time that steps may block the event loop, and so signals; a single step can't be interrupted. */
const longestTurnMs = 50;

/** Maximum number of steps between clock reads; a read costs about as much as a step of the fastest environments. */
const longestStride = 256;

/** Plays episodes and yields to the event loop from time to time, even in the middle of an episode. */
export class EpisodeTurns {
  readonly #signal: AbortSignal | undefined;
  #turned = performance.now();
  #looked = this.#turned;
  #stride = 1;
  #left = 1;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /**
   * Plays one episode like `rollout`.
   * @throws the signal's reason when aborted
   */
  async play(
    environment: Environment,
    policy: Policy,
    { seed, record }: EpisodeTask,
    maxSteps: number,
  ): Promise<PlayedEpisode> {
    const episode = new RunningEpisode(environment.reset(seed), record ? emptyTrajectory() : undefined);
    while (!episode.ended) {
      const action = policy(episode.observation);
      episode.take(action, environment.step(action), maxSteps);
      if (--this.#left > 0) continue;
      if (this.#isOver()) await this.#turn();
    }
    return episode.result();
  }

  /** Whether it is time to yield. Adapts the stride to the speed of the steps. */
  #isOver(): boolean {
    const now = performance.now();
    const wasFast = now - this.#looked < 1;
    this.#stride = wasFast ? Math.min(2 * this.#stride, longestStride) : Math.ceil(this.#stride / 4);
    this.#left = this.#stride;
    this.#looked = now;
    return now - this.#turned >= longestTurnMs;
  }

  async #turn(): Promise<void> {
    await yieldToEventLoop();
    this.#signal?.throwIfAborted();
    this.#turned = performance.now();
    this.#looked = this.#turned;
  }
}
