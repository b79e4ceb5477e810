import { type RandomGenerator, shuffled } from '../../random/generator.js';
import type { LinearHint, Task } from '../environment.js';

/** A drawn task and its step limit. */
export interface DrawnTask {
  readonly task: Task;
  readonly maxSteps: number;
  /** How its policies are searched, where that was drawn with it. */
  readonly linear?: LinearHint;
}

/** Draws a task; undefined where the draw came out trivial or hopeless, so that another has to be made. */
export type Draw<Options> = (random: RandomGenerator, options: Options) => DrawnTask | undefined;

/** Options of families whose policies are linear. */
export interface ControlOptions {
  readonly observations?: number | undefined;
  readonly actions?: number | undefined;
  readonly control?: 'discrete' | 'continuous' | undefined;
}

// Distributions that random tasks are drawn from.

/** True with probability `p`. */
export const chance = (random: RandomGenerator, p: number): boolean => random.random() < p;

/** A number in [low, high) whose logarithm is uniform. */
export const logUniform = (random: RandomGenerator, low: number, high: number): number =>
  low * (high / low) ** random.random();

/** −1 or 1. */
export const randomSign = (random: RandomGenerator): number => (random.random() < 0.5 ? -1 : 1);

/** An integer in [low, high], both included. */
export const integerBetween = (random: RandomGenerator, low: number, high: number): number =>
  random.integers(low, high + 1);

/** A direction in `n` dimensions, of length 1. */
export function unitVector(random: RandomGenerator, n: number): Float64Array {
  const vector = Float64Array.from({ length: n }, () => random.normal());
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** The integers below `n` in random order. */
export const permutation = (random: RandomGenerator, n: number): number[] =>
  shuffled(Array(n).keys(), random);

/** The matrix of a random rotation, n × n by rows: Givens rotations of random pairs of axes. */
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
