/** Helpers that compare training on packed weights with training on dense ones. */
import type { LoraSettings, trainedParameters } from '../../../finetune/engine/trainable.js';
import type { Parameter } from '../../../finetune/engine/training-session.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { adaptableModules } from '../../../src/models/local/graph/adapter.js';
import type { BuiltGraph } from '../../../src/models/local/graph/graph.js';
import { writeOnnxModel } from '../../../src/models/local/graph/onnx-writer.js';

/** The same graph with products that don't round their activations. */
export function exactProducts(built: BuiltGraph): BuiltGraph {
  const level = { kind: 'int', value: 1 } as const;
  const nodes = built.graph.nodes.map((node) =>
    node.op === 'MatMulNBits' ? { ...node, attributes: { ...node.attributes, accuracy_level: level } } : node,
  );
  const graph = { ...built.graph, nodes };
  return { ...built, graph, model: writeOnnxModel(graph) };
}

export const lora: LoraSettings = {
  rank: 4,
  alpha: 8,
  dropout: 0,
  rankStabilized: false,
  modules: adaptableModules,
};

/** An adapter in which neither factor is 0. */
export function someAdapter(shapes: ReturnType<typeof trainedParameters>, deviation: number): Parameter[] {
  const random = createGenerator(11);
  return shapes.map(({ name, shape }) => {
    const values = Float32Array.from({ length: shape[0]! * shape[1]! }, () => random.normal(0, deviation));
    return { name, shape, values };
  });
}
