/** Shared helpers for drawing random tasks. */

import { type RandomGenerator, shuffled } from '../../../../src/base/random/generator.js';
import type { Task } from '../../../../src/environments/environment.js';

export interface DrawnTask {
  readonly task: Task;
  readonly maxSteps: number;
}

/** Draws a task; undefined if the draw must be repeated because it is trivial or hopeless. */
export type Draw = (random: RandomGenerator) => DrawnTask | undefined;

/** True with probability `p`. */
export const chance = (random: RandomGenerator, p: number): boolean => random.random() < p;

/** A number in [low, high) whose logarithm is uniform. */
export const logUniform = (random: RandomGenerator, low: number, high: number): number =>
  low * (high / low) ** random.random();

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
