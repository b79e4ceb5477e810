/** The interface of tasks for online learning: an agent's episodes, or a proposer's candidates. */
import type { Group } from './episode.js';
import type { Sampler } from './reply.js';

export interface RlTask {
  /**
   * Plays `size` episodes from each start.
   * @param seed sampling seed
   */
  play(sampler: Sampler, starts: readonly number[], size: number, seed: number): Promise<readonly Group[]>;
  /**
   * Evaluates the model on starts that are never trained on.
   * @param seed sampling seed
   */
  measure(sampler: Sampler, starts: readonly number[], seed: number): Promise<Measured>;
  /**
   * State that the next groups depend on besides their starts, to be saved in checkpoints; missing if there is none.
   */
  readonly progress?: { save(): string; restore(saved: string): Promise<void> };
  /** Results of baseline searches on the held-out tasks; missing for tasks without baselines. */
  baselines?(): Promise<readonly Baseline[]>;
  close(): Promise<void>;
}

interface Measured {
  /** One per start; the weights with the highest mean are the best. */
  readonly values: readonly number[];
  /** Mean return of the proposed policies. */
  readonly policyReturn?: number | undefined;
  /** Best return of each run, averaged over runs. */
  readonly bestReturn?: number | undefined;
}

/** A baseline search with the same number of episodes. */
export interface Baseline {
  /** Name shown in tables. */
  readonly label: string;
  readonly bestReturn: number;
  /** Episodes per run. */
  readonly episodes: number;
}
