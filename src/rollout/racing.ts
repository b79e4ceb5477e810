/**
 * Cuts an evaluation short when it can no longer, or hardly, reach the incumbent's mean return.
 * Racing candidates goes back to Maron & Moore (1994), "Hoeffding races".
 */

import { UserError } from '../base/errors.js';
import { highestReturn } from '../environments/catalogue/known-bounds.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { largest, mean } from '../statistics/descriptive.js';
import type { BufferEntry } from './replay-buffer.js';
import type { EvaluationConfig } from './settings.js';

/** How the evaluations of a run are raced. */
export interface Racing {
  /** 0.5 … 1: how seldom an evaluation that would have reached the incumbent may be cut short. 1: never. */
  readonly confidence: number;
  /** Episodes between two looks. */
  readonly block: number;
  /** No episode returns more. */
  readonly highest: number;
}

/** One evaluation against the incumbent: the best policy when the iteration began. */
export interface Race extends Racing {
  /** Episodes that the evaluation has when it is played to its end. */
  readonly episodes: number;
  /** Sum of returns with which these episodes would be as good as the incumbent. */
  readonly total: number;
}

/**
 * The racing that `evaluation.racing` asks for; undefined without it.
 * @throws UserError where nothing tells how much an episode can return
 */
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
    message: `is needed: it is not known how much an episode of ${id} can return at most`,
    remedy:
      'state what no episode can pass, such as the highest reward of a step times the steps of an episode, or remove evaluation.racing',
  });
}

/** Undefined where nothing is raced, or there is no incumbent yet. */
export function raceAgainst(
  incumbent: BufferEntry | undefined,
  racing: Racing | undefined,
  episodes: number,
): Race | undefined {
  if (racing === undefined || incumbent === undefined) return undefined;
  const { returns } = incumbent;
  // The incumbent may have passed a stated bound.
  const highest = largest([racing.highest, ...returns]);
  return { ...racing, highest, episodes, total: mean(returns) * episodes };
}

/** Shares of what can be lost that the bets of the test put at stake; see `isLost`. */
const stakes = [0.5, 1] as const;

/**
 * Whether the evaluation may end with these episodes: the incumbent is out of reach, surely or at the confidence.
 * A mean above the incumbent's is never cut short. docs/design.md tells the test (Waudby-Smith & Ramdas 2024, section 5;
 * Ville 1939); it needs no lower bound and no distribution, only that the order of the episodes is random.
 * @param returns of the episodes played so far, in their order
 */
export function isLost({ confidence, episodes, highest, total }: Race, returns: readonly number[]): boolean {
  let sum = 0;
  let capitals: readonly number[] = stakes.map(() => 1);
  let peak = 1;
  for (const [i, value] of returns.entries()) {
    // A return above the bound shows that the bound is wrong.
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
