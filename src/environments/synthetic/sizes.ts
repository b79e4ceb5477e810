import type { RandomGenerator } from '../../random.js';
import { type Actuators, drawActuatorKind } from './actuators.js';
import { chance, integerBetween } from './distributions.js';
import type { ControlOptions } from './draw.js';

/** The most parameters of a drawn linear policy with a bias. */
const mostParameters = 24;

export interface Sizes {
  readonly observations: number;
  /** Of the state, one more than is observed in a fifth of the draws. */
  readonly dimension: number;
  readonly kind: Pick<Actuators, 'kind' | 'count'>;
}

/** Dimensions of a controlled system, where they are not chosen so that a policy has at most 24 parameters. */
export function drawSizes(random: RandomGenerator, options: ControlOptions, range = [2, 8] as const): Sizes {
  const kind = drawActuatorKind(random, options);
  const most = Math.min(range[1], Math.floor(mostParameters / kind.count) - 1);
  // The smaller of two draws half of the time: small tasks are searched most often.
  const one = integerBetween(random, range[0], most);
  const other = integerBetween(random, range[0], most);
  const drawn = chance(random, 0.5) ? Math.min(one, other) : one;
  const hidden = chance(random, 0.2) ? 1 : 0;
  const observations = options.observations ?? drawn;
  return { observations, dimension: observations + hidden, kind };
}
