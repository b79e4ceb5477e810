/**
 * Hides the shapes of a graph's values from ONNX Runtime. When it loads a graph, its memory planner compares each value of
 * known rank with all values that were freed before, which takes a minute for the training graph of a model with 30 layers.
 * Without the planner, the arena reuses the memory.
 */
import {
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  writeOnnxModel,
} from '../../src/models/local/graph/onnx-writer.js';

/**
 * Writes a model whose inputs declare no shape, and whose reshapes have targets of unknown length, computed in each run.
 * @param input name of an input with at least one dimension
 */
export function modelOfHiddenShapes(graph: OnnxGraph, input: string): Uint8Array {
  const constants = new Set(
    graph.initializers.filter(({ data }) => data.kind === 'inline').map(({ name }) => name),
  );
  const slices = new Map<string, OnnxNode>();
  const nodes = graph.nodes.map((one) => {
    const [from, target] = one.inputs as [string, string];
    if (one.op !== 'Reshape' || !constants.has(target)) return one;
    const hidden = `hidden.${target}`;
    slices.set(hidden, node('Slice', [target, 'hidden.start', 'hidden.end'], hidden));
    return { ...one, inputs: [from, hidden] };
  });
  const end = [
    node('Shape', [input], 'hidden.shape'),
    node('ReduceMax', ['hidden.shape'], 'hidden.size'),
    node('Add', ['hidden.size', 'hidden.rank'], 'hidden.end'),
  ];
  const initializers = [...graph.initializers, integer('hidden.start', 0), integer('hidden.rank', 8)];
  return writeOnnxModel({ ...graph, initializers, nodes: [...end, ...slices.values(), ...nodes] }, false);
}

const node = (op: string, inputs: readonly string[], output: string): OnnxNode => ({
  ...{ op, domain: '', inputs, outputs: [output], attributes: {} },
});

const integer = (name: string, value: number): OnnxInitializer => ({
  ...{ name, type: 'int64', shape: [1] },
  data: { kind: 'inline', bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer) },
});
