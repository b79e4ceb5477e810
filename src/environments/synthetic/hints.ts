import type { RandomGenerator } from '../../random/generator.js';
import type { LinearHint } from '../environment.js';
import { chance, integerBetween, logUniform } from './distributions.js';

/** Maximum number of parameters of a policy whose search settings are drawn with the task. */
const mostDrawnParameters = 40;

/** A random box of parameters and its number of decimals; most configs have ±6 with one decimal. */
function drawBox(random: RandomGenerator): Pick<LinearHint, 'low' | 'high' | 'decimals'> {
  const bound = random.choice([1, 2, 3, 6, 6, 6, 10]);
  const decimals = chance(random, bound <= 2 ? 0.7 : 0.2) ? 2 : 1;
  return { low: -bound, high: bound, decimals };
}

/**
 * How to search the policies of a linear controller: box, bias and order of the weights. 15% of the draws,
 * and those with too many weights, use a rotation or a random subspace instead of an order.
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

/** How to search the points of a function of `n` numbers: a box and, in 15% of the draws, a rotation. */
export function drawPointHint(random: RandomGenerator, n: number): LinearHint {
  const box = drawBox(random);
  const seed = random.integers(0, 2 ** 31);
  return { ...box, bias: false, ...(chance(random, 0.15) && { projection: { seed, rank: n } }) };
}

/** As many as there are weights (a rotation), or fewer (a subspace). */
function drawRank(random: RandomGenerator, weights: number): number {
  const most = Math.min(weights, mostDrawnParameters);
  return chance(random, 0.5) ? most : integerBetween(random, Math.min(most, 3), most);
}

/**
 * How far the solution of a task is inside the box or beyond it, in which case the best points are on faces and
 * corners: log-uniform in 0.05 to 20. Continuous actions usually need small weights, discrete ones large weights.
 */
export const drawSolutionScale = (random: RandomGenerator, kind: 'discrete' | 'continuous'): number =>
  chance(random, 0.7) === (kind === 'continuous') ? logUniform(random, 0.05, 1) : logUniform(random, 1, 20);
