import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import type { Shape } from './shapes.js';

/** The node that a rule differentiates, and the graph that it writes the gradient to. */
export interface RuleContext {
  readonly g: GraphBuilder;
  readonly precision: Precision;
  readonly node: OnnxNode;
  /** Gradients of the loss with respect to the node's outputs; undefined where the loss does not depend on one. */
  readonly outputs: readonly (Value | undefined)[];
  /** Whether the gradient with respect to the given input is wanted. */
  wants(input: number): boolean;
  /** @returns shape of a value of the graph that is differentiated */
  shape(value: Value): Shape;
  /** @returns the shape as the graph computes it (int64), without need of the value */
  size(value: Value): Value;
  /** @returns a value of the forward pass, computed again where it is not kept */
  recalled(value: Value): Value;
  /** The value of a scalar constant, or undefined. */
  constant(value: Value): number | undefined;
  /** The values of a constant of whole numbers, or undefined. */
  integers(value: Value): readonly number[] | undefined;
  /** Indices that undo a reading of rows, where they are known. */
  inverse(indices: Value): Value | undefined;
}

/** Gradients with respect to the inputs, in their order and shapes; undefined where not wanted. */
export type Rule = (context: RuleContext) => readonly (Value | undefined)[];
