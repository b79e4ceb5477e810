import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import type { Shape } from './shapes.js';

/** Input of a gradient rule: the node to differentiate and the graph to extend. */
export interface RuleContext {
  readonly g: GraphBuilder;
  readonly precision: Precision;
  readonly node: OnnxNode;
  /** Gradients of the loss with respect to the node's outputs; undefined for outputs that don't affect the loss. */
  readonly outputs: readonly (Value | undefined)[];
  needsGradient(input: number): boolean;
  shape(value: Value): Shape;
  /** The value's shape as an int64 vector that the graph computes, without keeping a dropped value in memory. */
  size(value: Value): Value;
  /** A value of the forward pass for use in the backward pass; recomputed if it wasn't kept. */
  recall(value: Value): Value;
  /** Indices that invert a gather by `indices`, if known. */
  inverse(indices: Value): Value | undefined;
}

/** Returns the gradients with respect to the inputs, in their order and shapes; those not needed may be missing. */
export type Rule = (context: RuleContext) => readonly (Value | undefined)[];

export type AddConstant = (values: readonly number[], type: 'int64' | 'uint8') => Value;

/**
 * Returns a function that adds constants that the runtime can't fold. Folding would keep all dequantized matrices.
 * @param runtimeValue a value computed during the run, at least one-dimensional
 */
export function constantAdder(g: GraphBuilder, runtimeValue: Value): AddConstant {
  const size = g.op('Slice', [g.op('Shape', [runtimeValue]), g.integers([0]), g.integers([1])]);
  const zero = g.op('Mul', [size, g.integers([0])]);
  return (values, type) => {
    const sum = g.op('Add', [zero, g.integers(values)]);
    return type === 'int64' ? sum : g.cast(sum, type);
  };
}

/** Maximum number of weights held in float32 at once; a larger matrix, such as a head, is processed in parts. */
const maxWeights = 2 ** 24;

/**
 * Sums the contributions of a frozen matrix's rows to a gradient, one part at a time.
 * @param emitPart computes the contribution of `count` rows, which `cut` cuts out of a value along an axis
 */
export function sumOfParts(
  g: GraphBuilder,
  emit: AddConstant,
  [rows, columns]: readonly [number, number],
  emitPart: (count: number, cut: (value: Value, axis: number) => Value) => Value,
): Value {
  const step = Math.max(1, Math.floor(maxWeights / columns));
  let sum: Value | undefined;
  for (let from = 0; from < rows; from += step) {
    const count = Math.min(step, rows - from);
    const range = [emit([from], 'int64'), emit([from + count], 'int64')];
    const partSum = emitPart(count, (value, axis) =>
      count === rows ? value : g.op('Slice', [value, ...range, g.integers([axis])]),
    );
    sum = sum === undefined ? partSum : g.op('Add', [sum, partSum]);
  }
  return sum!;
}
