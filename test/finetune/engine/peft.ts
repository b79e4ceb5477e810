/** PEFT's initial adapters and its gradients, and training sessions to compare with them. */
import path from 'node:path';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import { openTrainingSession, type Parameter } from '../../../finetune/engine/training-session.js';
import { sft } from '../../../finetune/train/objectives/supervised.js';
import { adapterPrefix } from '../../../src/models/local/graph/adapter.js';
import type { Precision } from '../../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { readSafetensors } from '../../../src/models/local/weights/safetensors.js';
import { adapterValues, values } from '../reference-training.js';

export function openSft(config: DecoderConfig, trainable: TrainableSpec, precision: Precision, threads = 1) {
  const graph = buildTrainingGraph({ config, trainable, objective: sft, precision, purpose: 'train' });
  return openTrainingSession(graph, { device: 'cpu', threads, optimize: precision === 'float32' });
}

/** The adapter before the first step. */
export function startOf(
  directory: string,
  config: DecoderConfig,
  trainable: TrainableSpec,
  precision: Precision = 'float32',
): Parameter[] {
  const start = adapterValues(path.join(directory, 'adapter-start'));
  return trainedParameters(config, trainable).map(({ name, shape }) => {
    const own = start.get(name)!;
    return { name, shape, values: precision === 'float32' ? own : Float64Array.from(own) };
  });
}

/** Reads gradients by parameter name. */
export function gradientsIn(file: string): Map<string, Float32Array> {
  const { tensors } = readSafetensors(file);
  return values(new Map(tensors.map((tensor) => [tensor.name.slice(adapterPrefix.length), tensor])));
}
