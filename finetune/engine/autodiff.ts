/** Reverse-mode automatic differentiation: extends the graph with nodes that compute the gradients. */
import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxNode } from '../../src/models/local/graph/onnx-writer.js';
import type { ParameterSource } from '../../src/models/local/graph/parameters.js';
import { gradientRules } from './gradient-rules.js';
import { createSizeEmitter, inferShapes, unsupportedError } from './shapes.js';

interface GradientHints {
  /** Values through which no gradient flows, such as the maximum that stabilizes a softmax. */
  readonly constants?: readonly Value[];
  /** Values that are cheap to compute; the backward pass recomputes those that it needs, so they aren't kept. */
  readonly cheapValues?: ReadonlySet<Value>;
  /** Maps a gather's indices to those that gather the gradients back, which find a repeated row only once. */
  readonly inverses?: ReadonlyMap<Value, Value>;
}

/**
 * Appends the backward pass to the graph.
 * @param loss scalar (shape [] or [1])
 * @returns ∂loss/∂parameter in each parameter's shape; parameters that don't affect the loss are omitted
 * @throws Error for an operator that training doesn't support
 */
export function emitGradients(
  g: GraphBuilder,
  loss: Value,
  parameters: readonly Value[],
  precision: Precision,
  { constants = [], cheapValues = new Set(), inverses = new Map() }: GradientHints = {},
): ReadonlyMap<Value, Value> {
  const graph = g.outline('forward');
  const shapes = inferShapes(graph);
  const active = activeValues(graph.nodes, parameters, constants);
  const dropped = new Set([...cheapValues].filter((value) => active.has(value)));
  const recall = createRecall(g, graph.nodes, dropped, active);
  const emitSize = createSizeEmitter(g, graph.inputs, shapes);
  const lossShape = shapes.get(loss)!.map(() => 1);
  const totals = new Map<Value, Value>([[loss, g.floats(precision, [1], lossShape)]]);
  for (const node of graph.nodes.toReversed()) {
    const outputs = node.outputs.map((name) => totals.get(name));
    if (!node.outputs.some((name) => active.has(name)) || outputs.every((one) => one === undefined)) continue;
    const rule = gradientRules[node.op];
    if (rule === undefined) throw unsupportedError(node, 'no gradient rule');
    const needsGradient = (input: number) => active.has(node.inputs[input] ?? '');
    const results = rule({
      g,
      precision,
      node,
      outputs,
      needsGradient,
      shape: (value) => shapes.get(value)!,
      size: (value) => (dropped.has(value) ? emitSize(value) : g.op('Shape', [value])),
      recall: (value) => recall(value, outputs.find((gradient) => gradient !== undefined)!),
      inverse: (indices) => inverses.get(indices),
    });
    node.inputs.forEach((name, index) => {
      const gradient = results[index];
      if (!needsGradient(index) || gradient === undefined) return;
      const previous = totals.get(name);
      totals.set(name, previous === undefined ? gradient : g.op('Add', [previous, gradient]));
    });
  }
  return new Map(parameters.filter((name) => totals.has(name)).map((name) => [name, totals.get(name)!]));
}

/** Returns the values that depend on a parameter, except through `constants`. */
function activeValues(
  nodes: readonly OnnxNode[],
  parameters: readonly Value[],
  constants: readonly Value[],
): ReadonlySet<Value> {
  const activeSet = new Set(parameters);
  const fixed = new Set(constants);
  for (const node of nodes) {
    if (node.op === 'Shape' || !node.inputs.some((name) => activeSet.has(name))) continue;
    for (const output of node.outputs) if (!fixed.has(output)) activeSet.add(output);
  }
  return activeSet;
}

/** Wraps a source so that each product, and the input of attention's output projection, is added to `kept`. */
export function recordingSource(
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

const productOperators: ReadonlySet<string> = new Set(['Gemm', 'MatMulNBits']);

/** Returns the outputs of `nodes` that aren't kept: all except `kept` and products with weights. */
export function droppedValues(nodes: readonly OnnxNode[], kept: ReadonlySet<Value>): ReadonlySet<Value> {
  const cheapNodes = nodes.filter(({ op }) => !productOperators.has(op));
  return new Set(cheapNodes.flatMap(({ outputs }) => outputs).filter((value) => !kept.has(value)));
}

/**
 * Selective recomputation (Korthikanti et al. 2022, arXiv 2205.05198): the backward pass recomputes the layers'
 * values except products with weights, the residual stream and the input of attention's output projection. The
 * dropped values are cheap to compute and would take two thirds of the memory.
 * @param active values that depend on a parameter
 * @returns a function of a value and a gradient; a dropped value is recomputed only once the gradient is available
 */
function createRecall(
  g: GraphBuilder,
  nodes: readonly OnnxNode[],
  dropped: ReadonlySet<Value>,
  active: ReadonlySet<Value>,
): (value: Value, gradient: Value) => Value {
  const producers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const recomputed = new Map<Value, Value>();
  /** Makes a value depend on the gradient, so the runtime can't compute it early or merge it with the forward pass. */
  const delay = (value: Value, gradient: Value): Value => {
    const size = g.op('Slice', [g.op('Shape', [gradient]), g.integers([0]), g.integers([1])]);
    const zero = g.op('Mul', [size, g.integers([0])]);
    return g.op('Reshape', [value, g.op('Add', [g.op('Shape', [value]), zero])]);
  };
  const recall = (value: Value, gradient: Value): Value => {
    const found = recomputed.get(value);
    if (found !== undefined) return found;
    const node = producers.get(value)!;
    const inputs = node.inputs.map((name) => {
      if (dropped.has(name)) return recall(name, gradient);
      if (!producers.has(name) || !active.has(name)) return name;
      const delayed = recomputed.get(name) ?? delay(name, gradient);
      recomputed.set(name, delayed);
      return delayed;
    });
    for (const [index, name] of g.repeat(node, inputs).entries()) recomputed.set(node.outputs[index]!, name);
    return recomputed.get(value)!;
  };
  return (value, gradient) => (dropped.has(value) ? recall(value, gradient) : value);
}
