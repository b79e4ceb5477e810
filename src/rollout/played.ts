/** Plays episodes, and fingerprints the policy's actions in them. */
import { createHash } from 'node:crypto';
import type { ParameterVector } from '../policies/policy.js';
import { type EvaluationSetup, evaluate } from './evaluation.js';

export interface PlayResult {
  /** Undiscounted return of each episode. */
  readonly returns: readonly number[];
  /** A hash of all actions: equal for policies that chose the same actions in every step of these episodes. */
  readonly actions: string;
}

/** Plays one episode per seed. @throws like `evaluate` */
export async function playSeeds(
  setting: EvaluationSetup,
  parameters: ParameterVector,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<PlayResult> {
  const { episodes, returns } = await evaluate({ ...setting, record: 'all' }, parameters, seeds, signal);
  const actions = JSON.stringify(episodes.map((episode) => episode.actions));
  return { returns, actions: createHash('sha256').update(actions).digest('base64') };
}
