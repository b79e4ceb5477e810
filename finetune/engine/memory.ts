/** Estimates the memory of training, without loading the model. */
import type { Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { sum } from '../../src/statistics/descriptive.js';
import type { Batch } from './batch.js';
import { inferShapes } from './shapes.js';
import type { buildTrainingGraph } from './training-graph.js';

type TrainingGraph = ReturnType<typeof buildTrainingGraph>;

/**
 * Bytes of the sessions and of their largest parts, without the trained parameters. The factors were measured with
 * SmolLM2 and Qwen2.5 0.5B, each in 4 bits on a CPU, and parts of 100 to 1,500 tokens.
 * @param validation undefined if there is none; else, there are two more sessions, which evaluate and sample
 */
export function sessionBytes(
  graph: TrainingGraph,
  config: DecoderConfig,
  training: Batch,
  validation: Batch | undefined,
): number {
  const { initializers, nodes } = graph.graph;
  const weights = sum(initializers.map(({ data }) => (data.kind === 'external' ? data.length : 0)));
  const inLayer = (values: number) => (1.15 * values) / config.layers.length;
  const { kept, recomputed } = activationBytes(graph, training);
  const trained = 2 * weights + 8000 * nodes.length + kept + inLayer(recomputed);
  if (validation === undefined) return trained;
  const logits = 4 * validation.targets!.values.length * config.vocabulary;
  return trained + 2 * weights + inLayer(activationBytes(graph, validation).recomputed) + 4 * logits;
}

/** Bytes of the values that the backward pass keeps, and of those that it recomputes, in all layers. */
function activationBytes({ cheap, forward, graph }: TrainingGraph, batch: Batch) {
  const sizeOf = new Map(
    forward.inputs.flatMap(({ name, shape }) => shape.map((size, axis) => [size, batch[name]?.shape[axis]])),
  );
  const inputs = forward.inputs.map((input) => ({
    ...input,
    shape: input.shape.map((size) => sizeOf.get(size) ?? size),
  }));
  const shapes = inferShapes({ ...forward, inputs });
  const bytes = (values: readonly Value[]) =>
    sum(values.map((value) => shapes.get(value)!.reduce((product, { factor }) => product * factor, 4)));
  const values = forward.nodes.flatMap(({ outputs }) => outputs);
  const end = graph.nodes.indexOf(forward.nodes.at(-1)!) + 1;
  const backward = graph.nodes.slice(end).filter(({ op }) => op !== 'Shape');
  const read = new Set(backward.flatMap((node) => node.inputs));
  return {
    kept: bytes(values.filter((value) => read.has(value))),
    recomputed: bytes(values.filter((value) => cheap.has(value))),
  };
}
