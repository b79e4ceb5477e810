/**
 * Hides the shapes of values from ONNX Runtime. When it loads a model, its memory planner compares each value of known
 * rank with all previously freed values. For a model with 30 layers, this takes seconds, and for its training graph
 * half a minute. The planning gains nothing, because the memory arena reuses freed memory anyway.
 */
import { type OnnxGraph, type OnnxInitializer, type OnnxNode, writeOnnxModel } from './onnx-writer.js';

/** No value in our models has more dimensions. */
const maxDimensions = 8;

/**
 * Encodes the model without the shapes of inputs and outputs. Each constant target shape of a reshape passes through
 * a slice, so the runtime doesn't know the rank of the result in advance.
 * @param input name of an input with at least one dimension
 */
export function modelWithoutShapes(graph: OnnxGraph, input: string): Uint8Array {
  const constants = new Set(
    graph.initializers.filter(({ data }) => data.kind === 'inline').map(({ name }) => name),
  );
  const slices = new Map<string, OnnxNode>();
  const nodes = graph.nodes.map((original) => {
    const [from, target] = original.inputs as [string, string];
    if (original.op !== 'Reshape' || !constants.has(target)) return original;
    const hidden = `hidden.${target}`;
    slices.set(hidden, node('Slice', [target, 'hidden.start', 'hidden.end'], hidden));
    return { ...original, inputs: [from, hidden] };
  });
  const endNodes = [
    node('Shape', [input], 'hidden.shape'),
    node('ReduceMax', ['hidden.shape'], 'hidden.size'),
    node('Add', ['hidden.size', 'hidden.most'], 'hidden.end'),
  ];
  const bounds = [integer('hidden.start', 0), integer('hidden.most', maxDimensions)];
  const initializers = [...graph.initializers, ...bounds];
  const allNodes = [...endNodes, ...slices.values(), ...nodes];
  return writeOnnxModel({ ...graph, initializers, nodes: allNodes }, false);
}

const node = (op: string, inputs: readonly string[], output: string): OnnxNode => ({
  op,
  domain: '',
  inputs,
  outputs: [output],
  attributes: {},
});

const integer = (name: string, value: number): OnnxInitializer => ({
  name,
  type: 'int64',
  shape: [1],
  data: { kind: 'inline', bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer) },
});
