/** Shared helpers for drawing random tasks and their policy settings. */
import { type RandomGenerator, shuffled } from '../../random/generator.js';
import type { LinearHint, Task } from '../environment.js';

export interface DrawnTask {
  readonly task: Task;
  readonly maxSteps: number;
  /** Default policy settings, if drawn with the task. */
  readonly linear?: LinearHint;
}

/** Draws a task; undefined if the draw must be repeated because it is trivial or hopeless. */
export type Draw<Options> = (random: RandomGenerator, options: Options) => DrawnTask | undefined;

/** Options of the families survival, regulate, reach and pump. */
export interface ControlOptions {
  readonly observations?: number | undefined;
  readonly actions?: number | undefined;
  readonly control?: 'discrete' | 'continuous' | undefined;
}

/** True with probability `p`. */
export const chance = (random: RandomGenerator, p: number): boolean => random.random() < p;

/** A number in [low, high) whose logarithm is uniform. */
export const logUniform = (random: RandomGenerator, low: number, high: number): number =>
  low * (high / low) ** random.random();

export const logUniforms = (random: RandomGenerator, count: number, low: number, high: number): number[] =>
  Array.from({ length: count }, () => logUniform(random, low, high));

/** −1 or 1. */
export const randomSign = (random: RandomGenerator): number => (random.random() < 0.5 ? -1 : 1);

/** An integer in [low, high], both ends included. */
export const integerBetween = (random: RandomGenerator, low: number, high: number): number =>
  random.integers(low, high + 1);

export function unitVector(random: RandomGenerator, n: number): Float64Array {
  const vector = Float64Array.from({ length: n }, () => random.normal());
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** The integers from 0 to n − 1 in random order. */
export const permutation = (random: RandomGenerator, n: number): number[] =>
  shuffled(Array(n).keys(), random);

/** A random n × n rotation matrix, row-major, composed of Givens rotations of random pairs of axes. */
export function rotation(random: RandomGenerator, n: number): Float64Array {
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) matrix[i * n + i] = 1;
  for (let turn = 0; turn < 2 * n && n > 1; turn++) {
    const a = random.integers(0, n);
    const b = (a + random.integers(1, n)) % n;
    const angle = random.uniform(-Math.PI, Math.PI);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let j = 0; j < n; j++) {
      const [x, y] = [matrix[a * n + j]!, matrix[b * n + j]!];
      matrix[a * n + j] = cos * x - sin * y;
      matrix[b * n + j] = sin * x + cos * y;
    }
  }
  return matrix;
}

/** Maximum number of parameters of a policy whose settings are drawn with the task. */
const mostDrawnParameters = 40;

/** Draws a parameter range and a number of decimals: most often ±6 and one decimal, as in most configs. */
function drawBox(random: RandomGenerator): Pick<LinearHint, 'low' | 'high' | 'decimals'> {
  const bound = random.choice([1, 2, 3, 6, 6, 6, 10]);
  const decimals = chance(random, bound <= 2 ? 0.7 : 0.2) ? 2 : 1;
  return { low: -bound, high: bound, decimals };
}

/** Policy settings for a linear controller: range, bias, order of the weights, sometimes a rotation or subspace. */
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

/** Policy settings for a function of `n` numbers: a range and, in 15% of the draws, a rotation. */
export function drawPointHint(random: RandomGenerator, n: number): LinearHint {
  const box = drawBox(random);
  const seed = random.integers(0, 2 ** 31);
  return { ...box, bias: false, ...(chance(random, 0.15) && { projection: { seed, rank: n } }) };
}

/** Draws a rank: the number of weights (a rotation) or fewer (a subspace). */
function drawRank(random: RandomGenerator, weights: number): number {
  const most = Math.min(weights, mostDrawnParameters);
  return chance(random, 0.5) ? most : integerBetween(random, Math.min(most, 3), most);
}

/** Draws the solution's size relative to the box: usually 0.05 to 1 for continuous actions, 1 to 20 for discrete. */
export const drawSolutionScale = (random: RandomGenerator, kind: 'discrete' | 'continuous'): number =>
  chance(random, 0.7) === (kind === 'continuous') ? logUniform(random, 0.05, 1) : logUniform(random, 1, 20);
