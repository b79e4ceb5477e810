/** Estimates the memory of training, without loading the model. */
import type { Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { sum } from '../../src/statistics/descriptive.js';
import type { Batch } from './batch.js';
import { inferShapes } from './shapes.js';
import type { buildTrainingGraph } from './training-graph.js';

type Built = ReturnType<typeof buildTrainingGraph>;

/**
 * Estimates the bytes of the sessions and of the activations in their largest parts, without the trained parameters.
 * The factors were measured with SmolLM2 and Qwen2.5 0.5B in 4 bits, on a CPU, with parts of 100 to 1,500 tokens.
 * @param validation undefined if there is none. Otherwise, two more sessions evaluate and sample
 */
export function sessionBytes(graph: Built, config: DecoderConfig, step: Batch, validation?: Batch): number {
  const { initializers, nodes } = graph.graph;
  const weights = sum(initializers.map(({ data }) => (data.kind === 'external' ? data.length : 0)));
  const inLayer = (values: number) => (1.15 * values) / config.layers.length;
  const { kept, recomputed } = activationBytes(graph, step);
  const trained = 2 * weights + 8000 * nodes.length + kept + inLayer(recomputed);
  if (validation === undefined) return trained;
  const logits = 4 * validation.targets!.values.length * config.vocabulary;
  return trained + 2 * (weights + inLayer(activationBytes(graph, validation).recomputed)) + 4 * logits;
}

/** Bytes of the values that the backward pass keeps, and of those that it recomputes, in all layers. */
function activationBytes({ cheap, forward, graph }: Built, batch: Batch) {
  const inputs = forward.inputs.map((one) => ({ ...one, shape: batch[one.name]?.shape ?? one.shape }));
  const shapes = inferShapes({ ...forward, inputs });
  const bytes = (value: Value) => shapes.get(value)!.reduce((product, { factor }) => product * factor, 4);
  const values = forward.nodes.flatMap(({ outputs }) => outputs);
  const backward = graph.nodes.slice(graph.nodes.indexOf(forward.nodes.at(-1)!) + 1);
  const read = new Set(backward.flatMap(({ inputs, op }) => (op === 'Shape' ? [] : inputs)));
  const bytesIn = (some: ReadonlySet<Value>) => sum(values.filter((value) => some.has(value)).map(bytes));
  return { kept: bytesIn(read), recomputed: bytesIn(cheap) };
}
