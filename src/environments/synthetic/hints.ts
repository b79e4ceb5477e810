import type { RandomGenerator } from '../../random/generator.js';
import type { LinearHint } from '../environment.js';
import { chance, integerBetween, logUniform } from './distributions.js';

/** The most parameters of a policy whose search was drawn with its task. */
const mostDrawnParameters = 40;

/** The half-width of a box of parameters, with its decimals: ±6 in tenths is what most configs have. */
function drawBox(random: RandomGenerator): Pick<LinearHint, 'low' | 'high' | 'decimals'> {
  const bound = random.choice([1, 2, 3, 6, 6, 6, 10]);
  const decimals = chance(random, bound <= 2 ? 0.7 : 0.2) ? 2 : 1;
  return { low: -bound, high: bound, decimals };
}

/**
 * How the policies of a linear controller are searched: box, bias, order of the weights, and, for 15 % and for those with
 * too many weights, a rotation or a random subspace.
 */
export function drawControllerHint(
  random: RandomGenerator,
  { observations, outputs }: { readonly observations: number; readonly outputs: number },
): LinearHint {
  const box = drawBox(random);
  const bias = chance(random, 0.85);
  const weights = (observations + (bias ? 1 : 0)) * outputs;
  const projected = chance(random, 0.15);
  const style = random.random();
  const seed = random.integers(0, 2 ** 31);
  if (projected || weights > mostDrawnParameters)
    return { ...box, bias, projection: { seed, rank: drawRank(random, weights) } };
  if (style < 0.15) return { ...box, bias, order: 'bias-first' };
  if (style < 0.3) return { ...box, bias, order: 'columns' };
  if (style < 0.4) return { ...box, bias, order: { shuffled: seed } };
  return { ...box, bias };
}

/** How the points of a function of `n` numbers are searched: a box, and for 15 % a rotation of it. */
export function drawPointHint(random: RandomGenerator, n: number): LinearHint {
  const box = drawBox(random);
  const seed = random.integers(0, 2 ** 31);
  return { ...box, bias: false, ...(chance(random, 0.15) && { projection: { seed, rank: n } }) };
}

/** All of the weights, which is a rotation, or fewer. */
function drawRank(random: RandomGenerator, weights: number): number {
  const most = Math.min(weights, mostDrawnParameters);
  return chance(random, 0.5) ? most : integerBetween(random, Math.min(most, 3), most);
}

/**
 * The factor by which the solution of a task lies inside the box, or beyond it, where it then lies on faces and corners:
 * log-uniform in 0.05 to 20. Continuous actions mostly want small weights, choices large ones.
 */
export const drawSolutionScale = (random: RandomGenerator, kind: 'discrete' | 'continuous'): number =>
  chance(random, 0.7) === (kind === 'continuous') ? logUniform(random, 0.05, 1) : logUniform(random, 1, 20);
