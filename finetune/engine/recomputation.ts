/**
 * Selective recomputation (Korthikanti et al. 2022, arXiv 2205.05198): the backward pass recomputes the
 * layers' values except products with weights, the residual stream and the input of attention's output
 * projection. The dropped values are cheap to compute and take two thirds of the memory.
 */
import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import type { ParameterSource } from '../../src/models/local/graph/parameters.js';

/**
 * Wraps a parameter source so that it adds each product to `kept`, as well as the input of attention's output
 * projection.
 */
export function keepingProducts(
  source: ParameterSource,
  attentionOutput: string,
  kept: Set<Value>,
): ParameterSource {
  return {
    ...source,
    linear(module, x, bias) {
      const product = source.linear(module, x, bias);
      kept.add(product);
      if (module.endsWith(`.${attentionOutput}`)) kept.add(x);
      return product;
    },
  };
}

const products: ReadonlySet<string> = new Set(['Gemm', 'MatMulNBits']);

/** Outputs of these nodes that the backward pass recomputes. */
export function droppedValues(nodes: readonly OnnxNode[], kept: ReadonlySet<Value>): ReadonlySet<Value> {
  const cheap = nodes.filter(({ op }) => !products.has(op));
  return new Set(cheap.flatMap(({ outputs }) => outputs).filter((value) => !kept.has(value)));
}

/**
 * Recomputes dropped values, each at most once.
 * @param nodes nodes of the forward pass
 * @param active values that depend on a parameter
 * @returns a function that takes a value and a gradient, and returns the value. If the value was dropped, it
 *   is recomputed only after the gradient is available.
 */
export function recomputation(
  g: GraphBuilder,
  nodes: readonly OnnxNode[],
  dropped: ReadonlySet<Value>,
  active: ReadonlySet<Value>,
): (value: Value, after: Value) => Value {
  const producers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const known = new Map<Value, Value>();
  /**
   * A kept value under a new name that depends on the gradient, so the runtime can't start recomputing early
   * or merge the recomputation with the forward pass.
   */
  const late = (value: Value, after: Value): Value => {
    const size = g.op('Slice', [g.op('Shape', [after]), g.integers([0]), g.integers([1])]);
    const zero = g.op('Mul', [size, g.integers([0])]);
    return g.op('Reshape', [value, g.op('Add', [g.op('Shape', [value]), zero])]);
  };
  const recalled = (value: Value, after: Value): Value => {
    const found = known.get(value);
    if (found !== undefined) return found;
    const node = producers.get(value)!;
    const inputs = node.inputs.map((name) => {
      if (dropped.has(name)) return recalled(name, after);
      if (!producers.has(name) || !active.has(name)) return name;
      const delayed = known.get(name) ?? late(name, after);
      known.set(name, delayed);
      return delayed;
    });
    for (const [index, name] of g.repeat(node, inputs).entries()) known.set(node.outputs[index]!, name);
    return known.get(value)!;
  };
  return (value, after) => (dropped.has(value) ? recalled(value, after) : value);
}
