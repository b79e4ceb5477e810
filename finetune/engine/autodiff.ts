/** Reverse-mode automatic differentiation of a graph: the gradient becomes more nodes of the same graph. */

import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxInitializer, OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import { gradientRules } from './gradient-rules.js';
import { recomputation } from './recomputation.js';
import { inferShapes, uncovered, wholeNumbers } from './shapes.js';
import { sizesOf } from './sizes.js';

/** What is known of values. */
interface Known {
  /** No gradient flows through these, such as the maximum that makes a softmax stable. */
  readonly constants?: readonly Value[];
  /** These are computed again where a gradient needs them. */
  readonly cheap?: ReadonlySet<Value>;
  /**
   * The places that give the rows back, for indices that read each row of a matrix at one place. Where a row is read
   * besides, the gradient there is 0 or not wanted.
   */
  readonly inverses?: ReadonlyMap<Value, Value>;
}

/**
 * @param loss scalar (shape [] or [1])
 * @param parameters values that the gradients are taken with respect to
 * @returns ∂loss/∂parameter in each parameter's shape; a parameter without influence is left out
 * @throws Error naming the operator between a parameter and the loss that has no rule
 */
export function gradients(
  g: GraphBuilder,
  loss: Value,
  parameters: readonly Value[],
  precision: Precision,
  { constants = [], cheap = new Set(), inverses = new Map() }: Known = {},
): ReadonlyMap<Value, Value> {
  const graph = g.outline('forward');
  const shapes = inferShapes(graph);
  const active = activeValues(graph.nodes, parameters, constants);
  const initializers = new Map(graph.initializers.map((initializer) => [initializer.name, initializer]));
  const dropped = new Set([...cheap].filter((value) => active.has(value)));
  const recalled = recomputation(g, graph.nodes, dropped, active);
  const sizes = sizesOf(g, graph.inputs, shapes);
  const lossShape = shapes.get(loss)!.map(() => 1);
  const found = new Map<Value, Value>([[loss, g.floats(precision, [1], lossShape)]]);
  for (const node of graph.nodes.toReversed()) {
    const outputs = node.outputs.map((name) => found.get(name));
    if (!node.outputs.some((name) => active.has(name)) || outputs.every((one) => one === undefined)) continue;
    const rule = gradientRules[node.op];
    if (rule === undefined) throw uncovered(node, 'has no rule for its gradient');
    const wants = (input: number) => active.has(node.inputs[input] ?? '');
    const results = rule({
      g,
      precision,
      node,
      outputs,
      wants,
      shape: (value) => shapes.get(value)!,
      size: (value) => (dropped.has(value) ? sizes(value) : g.op('Shape', [value])),
      recalled: (value) => recalled(value, outputs.find((one) => one !== undefined)!),
      constant: (value) => scalar(initializers.get(value)),
      integers: (value) => wholeNumbers(initializers.get(value)),
      inverse: (indices) => inverses.get(indices),
    });
    node.inputs.forEach((name, index) => {
      const gradient = results[index];
      if (!wants(index) || gradient === undefined) return;
      const before = found.get(name);
      found.set(name, before === undefined ? gradient : g.op('Add', [before, gradient]));
    });
  }
  return new Map(parameters.filter((name) => found.has(name)).map((name) => [name, found.get(name)!]));
}

/** Values that depend on a parameter. */
function activeValues(
  nodes: readonly OnnxNode[],
  parameters: readonly Value[],
  constants: readonly Value[],
): ReadonlySet<Value> {
  const active = new Set(parameters);
  const fixed = new Set(constants);
  for (const node of nodes) {
    if (node.op === 'Shape' || !node.inputs.some((name) => active.has(name))) continue;
    for (const output of node.outputs) if (!fixed.has(output)) active.add(output);
  }
  return active;
}

function scalar(initializer: OnnxInitializer | undefined): number | undefined {
  if (initializer?.data.kind !== 'inline' || initializer.shape.length > 0) return undefined;
  const { buffer } = initializer.data.bytes.slice();
  if (initializer.type === 'float32') return new Float32Array(buffer)[0];
  if (initializer.type === 'float64') return new Float64Array(buffer)[0];
  return undefined;
}
