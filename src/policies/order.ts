import { createGenerator, shuffled } from '../random/generator.js';
import type { LinearOrder } from './settings.js';

/**
 * Dimensions of the weight matrix: one row per observation, plus one for the bias if present; one column per output.
 */
interface Shape {
  readonly observations: number;
  readonly outputs: number;
  readonly bias: boolean;
}

/**
 * The parameter index of each weight, with weights counted row by row and biases last; undefined if that is
 * already the order of the parameters.
 */
export function placesOf(
  { observations, outputs, bias }: Shape,
  order: LinearOrder | undefined,
): readonly number[] | undefined {
  const rows = observations + (bias ? 1 : 0);
  const weights = Array.from({ length: rows * outputs }, (_, weight) => weight);
  if (order === undefined || order === 'rows') return undefined;
  if (order === 'columns') return weights.map((w) => (w % outputs) * rows + Math.floor(w / outputs));
  if (order === 'bias-first') return bias ? weights.map((w) => (w + outputs) % weights.length) : undefined;
  return shuffled(weights, createGenerator(order.shuffled));
}
