/** How a policy acts in episodes: what they return, and a fingerprint of its actions. */
import { createHash } from 'node:crypto';
import type { ParameterVector } from '../policies/policy.js';
import { type EvaluationSetting, evaluate } from './evaluation.js';

export interface Played {
  /** Undiscounted return of each episode. */
  readonly returns: readonly number[];
  /** A hash of all actions: equal for policies that chose the same actions in every step of these episodes. */
  readonly actions: string;
}

/** Number of episodes whose trajectories are held in memory at a time. */
const together = 20;

/** Plays one episode per seed. @throws ProgramFault; EnvironmentError; the signal's reason if aborted */
export async function played(
  setting: EvaluationSetting,
  parameters: ParameterVector,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<Played> {
  const returns: number[] = [];
  const hash = createHash('sha256');
  for (let first = 0; first < seeds.length; first += together) {
    const own = seeds.slice(first, first + together);
    const evaluation = await evaluate({ ...setting, record: 'all' }, parameters, own, signal);
    returns.push(...evaluation.returns);
    for (const { actions } of evaluation.episodes) hash.update(`${JSON.stringify(actions)}\n`);
  }
  return { returns, actions: hash.digest('base64') };
}
