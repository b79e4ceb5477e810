/** Cuts short evaluations that are unlikely to reach the incumbent's mean (Maron & Moore 1994, "Hoeffding races"). */

import { UserError } from '../base/errors.js';
import { highestReturn } from '../environments/catalogue/known-bounds.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { largest, mean } from '../statistics/descriptive.js';
import type { BufferEntry } from './replay-buffer.js';
import type { EvaluationConfig } from './settings.js';

export interface Racing {
  /** In [0.5, 1]; an evaluation that would match the incumbent is cut short with probability at most 1 − confidence. */
  readonly confidence: number;
  readonly block: number;
  readonly highest: number;
}

/** One evaluation raced against the incumbent: the best policy recorded so far. */
export interface Race extends Racing {
  /** Number of episodes in the full evaluation. */
  readonly episodes: number;
  /** Sum of returns needed to match the incumbent. */
  readonly total: number;
}

/** Settings from `evaluation.racing`; undefined if absent. @throws UserError if no upper bound on returns is known */
export function racingOf(
  {
    environment: { id, options },
    evaluation: { maxSteps, racing, reward },
  }: { readonly environment: EnvironmentConfig; readonly evaluation: EvaluationConfig },
  environment: Pick<EnvironmentSpec, 'maxSteps'>,
): Racing | undefined {
  if (racing === undefined) return undefined;
  const steps = Math.min(environment.maxSteps ?? maxSteps, maxSteps);
  const known = reward === undefined ? highestReturn({ id, options }, steps) : undefined;
  const highest = racing.highest ?? known;
  if (highest !== undefined) return { ...racing, highest };
  throw new UserError({
    field: 'evaluation.racing.highest',
    message: `is required, because ${reward === undefined ? id : 'evaluation.reward'} has no known upper bound on an episode's return`,
    remedy:
      'set an upper bound, such as the maximum reward per step times the steps per episode, or remove evaluation.racing',
  });
}

/** Undefined if racing is off or there is no incumbent yet. */
export function raceAgainst(
  incumbent: BufferEntry | undefined,
  racing: Racing | undefined,
  episodes: number,
): Race | undefined {
  if (racing === undefined || incumbent === undefined) return undefined;
  const { returns } = incumbent;
  // The incumbent may have exceeded the configured bound.
  const highest = largest([racing.highest, ...returns]);
  return { ...racing, highest, episodes, total: mean(returns) * episodes };
}

/** Bet sizes of the test in `isLost`: the share of the capital that is lost if a return equals the upper bound. */
const stakes = [0.5, 1] as const;

/**
 * Whether the evaluation can stop after these episodes because the incumbent is out of reach, either
 * certainly or at the given confidence. Always false while the mean is at least the incumbent's. The test is
 * described in docs/decisions/07-racing.md (Waudby-Smith & Ramdas 2024, section 5; Ville 1939). It assumes only
 * the upper bound and that the episodes are in random order.
 * @param returns returns of the episodes played so far, in order
 */
export function isLost({ confidence, episodes, highest, total }: Race, returns: readonly number[]): boolean {
  let sum = 0;
  let capitals: readonly number[] = stakes.map(() => 1);
  let peak = 1;
  for (const [i, value] of returns.entries()) {
    // A return above the bound proves that the bound is wrong, so continue.
    if (value > highest) return false;
    const needed = (total - sum) / (episodes - i);
    if (needed < highest) {
      capitals = capitals.map(
        (capital, j) => capital * (1 + (stakes[j]! * (needed - value)) / (highest - needed)),
      );
    }
    peak = Math.max(peak, mean(capitals));
    sum += value;
  }
  const outOfReach = sum + (episodes - returns.length) * highest < total;
  const unlikely = confidence < 1 && peak >= 1 / (1 - confidence);
  return (outOfReach || unlikely) && sum / returns.length < total / episodes;
}
