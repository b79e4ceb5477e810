import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { type Action, type Space, symmetricBox } from '../../../../src/environments/environment.js';
import { chance, integerBetween, randomSign, unitVector } from './distributions.js';
import type { Plant } from './plant.js';

export interface Actuators {
  readonly kind: 'discrete' | 'continuous';
  /** Number of discrete actions, or of components of a continuous action. */
  readonly count: number;
  /** Continuous actions are clipped to ±`bound`. */
  readonly bound: number;
  /** How each discrete action, or each action component at its bound, changes the state: count × dimension. */
  readonly pushes: Float64Array;
  /** True if the effort of a continuous action includes the part that is clipped, as in MountainCarContinuous. */
  readonly countsExcess: boolean;
}

/** Draws the kind and the number of actions. */
export function drawActuatorKind(random: RandomGenerator): Pick<Actuators, 'kind' | 'count'> {
  const kind = chance(random, 0.5) ? 'discrete' : 'continuous';
  const [few, many] = kind === 'discrete' ? [2, 4] : [1, 2];
  return { kind, count: chance(random, 0.55) ? few : integerBetween(random, few, many) };
}

/** Draws which way each action pushes. @param strength maximum length of a push */
export function drawActuators(
  random: RandomGenerator,
  plant: Plant,
  { kind, count }: Pick<Actuators, 'kind' | 'count'>,
  strength: number,
): Actuators {
  const n = plant.dimension;
  const pushes = new Float64Array(count * n);
  const opposed = kind === 'discrete' && chance(random, 0.75);
  for (let action = 0; action < count; action++) {
    const direction = unitVector(random, plant.driven.length);
    plant.driven.forEach((coordinate, i) => {
      const value = strength * direction[i]!;
      const alone = plant.driven.length === 1 && kind === 'discrete' && !opposed;
      pushes[action * n + coordinate] = alone ? value * random.uniform(0, 1) : value;
    });
    if (opposed && action % 2 === 1) {
      for (let i = 0; i < n; i++) pushes[action * n + i] = -pushes[(action - 1) * n + i]!;
    }
  }
  // With opposed pairs and an odd count, the last action does nothing. Without pairs, two pushes must be opposed.
  if (opposed && count % 2 === 1) pushes.fill(0, (count - 1) * n);
  if (kind === 'discrete' && !opposed) turnOne(pushes, n, plant.driven[0]!, random);
  const bound = random.choice([0.4, 1, 1, 2, 3]);
  return { kind, count, bound, pushes, countsExcess: chance(random, 0.5) };
}

/** Makes the first two pushes oppose each other along a coordinate. */
function turnOne(pushes: Float64Array, n: number, coordinate: number, random: RandomGenerator): void {
  const side = randomSign(random);
  pushes[coordinate] = side * Math.abs(pushes[coordinate]!);
  pushes[n + coordinate] = -side * Math.abs(pushes[n + coordinate]!);
}

export function actionSpace({ kind, count, bound }: Actuators): Space {
  return kind === 'discrete' ? { kind, n: count } : symmetricBox(count, Math.fround(bound));
}

/** Writes an action's push. @returns its effort: a vector's mean square relative to the bound; otherwise, 0 or 1 */
export function applyAction(actuators: Actuators, action: Action, push: Float64Array): number {
  const { pushes, count, bound, countsExcess } = actuators;
  const n = push.length;
  if (typeof action === 'number') {
    push.set(pushes.subarray(action * n, (action + 1) * n));
    return push.every((value) => value === 0) ? 0 : 1;
  }
  push.fill(0);
  let effort = 0;
  for (let a = 0; a < count; a++) {
    const raw = (action as readonly number[])[a]! / bound;
    const cut = raw > 1 ? 1 : raw < -1 ? -1 : raw;
    effort += countsExcess ? raw * raw : cut * cut;
    for (let i = 0; i < n; i++) push[i]! += cut * pushes[a * n + i]!;
  }
  return effort / count;
}

/** Maximum number of parameters of a drawn linear policy with a bias. */
const mostParameters = 24;

interface Sizes {
  readonly observations: number;
  /** Dimension of the state; in a fifth of the draws, one dimension isn't observed. */
  readonly dimension: number;
  readonly kind: Pick<Actuators, 'kind' | 'count'>;
}

/** Draws the sizes of a controlled system so that a policy has at most 24 parameters. */
export function drawSizes(random: RandomGenerator): Sizes {
  const kind = drawActuatorKind(random);
  const most = Math.min(8, Math.floor(mostParameters / kind.count) - 1);
  // In half of the draws, use the smaller of two sizes, because small tasks are the most common in practice.
  const one = integerBetween(random, 2, most);
  const other = integerBetween(random, 2, most);
  const observations = chance(random, 0.5) ? Math.min(one, other) : one;
  const hidden = chance(random, 0.2) ? 1 : 0;
  return { observations, dimension: observations + hidden, kind };
}
