import { createGenerator, shuffled } from '../random/generator.js';
import type { LinearOrder } from './settings.js';

/** Sizes of the matrix of weights: a row an observation and, with a bias, one more; a column an output. */
interface Shape {
  readonly observations: number;
  readonly outputs: number;
  readonly bias: boolean;
}

/**
 * Where each weight stands among the parameters, the weights counted row by row and the biases after them; undefined
 * where that is their own order.
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
