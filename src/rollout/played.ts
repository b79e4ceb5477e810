/** Plays episodes, and fingerprints the policy's actions in them. */
import { createHash } from 'node:crypto';
import type { ParameterVector } from '../policies/policy.js';
import { type EvaluationSetup, evaluate } from './evaluation.js';

export interface EpisodeResults {
  /** Undiscounted return of each episode. */
  readonly returns: readonly number[];
  /** A hash of all actions: equal for policies that chose the same actions in every step of these episodes. */
  readonly actionHash: string;
}

/** Plays one episode per seed. @throws like `evaluate` */
export async function playSeeds(
  setup: EvaluationSetup,
  parameters: ParameterVector,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<EpisodeResults> {
  const { episodes, returns } = await evaluate({ ...setup, record: 'all' }, parameters, seeds, signal);
  const actions = JSON.stringify(episodes.map((episode) => episode.actions));
  return { returns, actionHash: createHash('sha256').update(actions).digest('base64') };
}
