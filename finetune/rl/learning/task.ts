/** What an online learning learns: an agent's episodes, or a proposer's candidates. */
import type { Group } from './episode.js';
import type { Sampler } from './reply.js';

/** What a model is trained on. */
export interface RlTask {
  /**
   * Plays `size` episodes from each start.
   * @param seed of the sampling
   */
  play(sampler: Sampler, starts: readonly number[], size: number, seed: number): Promise<readonly Group[]>;
  /**
   * What the model is worth on starts that it never learns from.
   * @param seed of the sampling
   */
  measure(sampler: Sampler, starts: readonly number[], seed: number): Promise<Measured>;
  /** What the next groups depend on beside their starts, for checkpoints; absent where there is nothing. */
  readonly progress?: { save(): string; restore(saved: string): Promise<void> };
  /** What searches reach where the model is measured; absent where there are none beside it. */
  baselines?(): Promise<readonly Baseline[]>;
  close(): Promise<void>;
}

interface Measured {
  /** One for each start; the best weights have the highest mean. */
  readonly values: readonly number[];
  /** Mean return of the policies that were proposed. */
  readonly policyReturn?: number | undefined;
  /** Mean over runs of the best return of each. */
  readonly bestReturn?: number | undefined;
}

/** A search beside the model, with the same number of episodes. */
export interface Baseline {
  /** For tables. */
  readonly label: string;
  readonly bestReturn: number;
  /** Episodes of one run. */
  readonly episodes: number;
}
