/** Estimates the memory of training, without loading the model. */
import type { Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { sum } from '../../src/statistics/descriptive.js';
import type { Batch } from './batch.js';
import { inferShapes } from './shapes.js';
import type { buildTrainingGraph } from './training-graph.js';

type Graph = ReturnType<typeof buildTrainingGraph>;

/**
 * Estimates the bytes of the sessions, and of the activations for the largest batches, without the trained parameters.
 * The factors were measured with SmolLM2 and Qwen2.5 0.5B in 4 bits, on a CPU, with parts of 100 to 1,500 tokens.
 * @param validation largest batch of the validation, if there is one; then two more sessions evaluate and sample
 */
export function sessionBytes(graph: Graph, config: DecoderConfig, step: Batch, validation?: Batch): number {
  const { initializers, nodes } = graph.graph;
  const weightBytes = sum(initializers.map(({ data }) => (data.kind === 'external' ? data.length : 0)));
  const layerBytes = (values: number) => (1.15 * values) / config.layers.length;
  const { keptBytes, recomputedBytes } = activationBytes(graph, step);
  const trainingBytes = 2 * weightBytes + 8000 * nodes.length + keptBytes + layerBytes(recomputedBytes);
  if (validation === undefined) return trainingBytes;
  const logitBytes = 4 * validation.targets!.values.length * config.vocabulary;
  const evaluationBytes = weightBytes + layerBytes(activationBytes(graph, validation).recomputedBytes);
  return trainingBytes + 2 * evaluationBytes + 4 * logitBytes;
}

/** Computes the bytes of the values kept for the backward pass, and of those that it recomputes, in all layers. */
function activationBytes({ cheapValues, forward, graph }: Graph, batch: Batch) {
  const inputs = forward.inputs.map((one) => ({ ...one, shape: batch[one.name]?.shape ?? one.shape }));
  const shapes = inferShapes({ ...forward, inputs });
  const bytesOf = (value: Value) => shapes.get(value)!.reduce((product, { factor }) => product * factor, 4);
  const values = forward.nodes.flatMap(({ outputs }) => outputs);
  const backwardNodes = graph.nodes.slice(graph.nodes.indexOf(forward.nodes.at(-1)!) + 1);
  const readValues = new Set(backwardNodes.flatMap(({ inputs, op }) => (op === 'Shape' ? [] : inputs)));
  const bytesIn = (set: ReadonlySet<Value>) => sum(values.filter((value) => set.has(value)).map(bytesOf));
  return { keptBytes: bytesIn(readValues), recomputedBytes: bytesIn(cheapValues) };
}
