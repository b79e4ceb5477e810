/**
 * Hides the shapes of a graph's values from ONNX Runtime. When it loads a graph, its memory planner compares each value of
 * known rank with all values that were freed before. For a model with 30 layers, this takes seconds, and for its training
 * graph half a minute. Without the planner, the arena reuses the memory.
 */
import type { BuiltGraph, Value } from './graph.js';
import { type OnnxInitializer, type OnnxNode, writeOnnxModel } from './onnx-writer.js';

/**
 * The same graph, whose model declares no shapes of inputs and whose reshapes have targets of unknown length, computed in
 * each run.
 * @param input name of an input with at least one dimension
 */
export function hideShapes(built: BuiltGraph, input: Value): BuiltGraph {
  const { graph } = built;
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
  const hidden = { ...graph, initializers, nodes: [...end, ...slices.values(), ...nodes] };
  return { ...built, model: writeOnnxModel(hidden, false) };
}

const node = (op: string, inputs: readonly string[], output: string): OnnxNode => ({
  ...{ op, domain: '', inputs, outputs: [output], attributes: {} },
});

const integer = (name: string, value: number): OnnxInitializer => ({
  ...{ name, type: 'int64', shape: [1] },
  data: { kind: 'inline', bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer) },
});
