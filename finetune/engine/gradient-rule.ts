import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import type { Shape } from './shapes.js';

/** What a gradient rule gets: the node to differentiate and the graph to extend. */
export interface RuleContext {
  readonly g: GraphBuilder;
  readonly precision: Precision;
  readonly node: OnnxNode;
  /** Gradients of the loss with respect to the node's outputs; undefined for outputs that don't affect the loss. */
  readonly outputs: readonly (Value | undefined)[];
  /** True if the gradient with respect to this input is needed. */
  wants(input: number): boolean;
  /** Inferred shape of a value in the forward graph. */
  shape(value: Value): Shape;
  /** The value's shape as an int64 vector computed in the graph. Never keeps a dropped value alive. */
  size(value: Value): Value;
  /** A forward value for use in the backward pass, recomputed if it wasn't kept. */
  recalled(value: Value): Value;
  /** Value of a scalar float constant; undefined for anything else. */
  constant(value: Value): number | undefined;
  /** Elements of an int64 constant; undefined for anything else. */
  integers(value: Value): readonly number[] | undefined;
  /** Indices that invert a gather by `indices`, if known. */
  inverse(indices: Value): Value | undefined;
}

/** Returns the gradients with respect to the inputs, in the inputs' order and shapes; undefined where not needed. */
export type Rule = (context: RuleContext) => readonly (Value | undefined)[];
