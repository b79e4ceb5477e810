/** Tells trainings apart: a checkpoint goes on as the training that it was written by, or not at all. */
import { createHash } from 'node:crypto';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import { readTensorBytes, sampledParts } from '../../src/models/local/weights/safetensors.js';
import type { Trainable } from '../engine/trainable.js';
import type { TrainingRun } from './trainer.js';

/**
 * SHA-256 of everything that the result follows from: model, frozen and first weights (by samples of each), method,
 * settings, examples. Not of what only decides how it is computed: where memory ran out, a training can go on with a
 * smaller `batchTokens`, since the same examples make up a step.
 */
export function trainingIdentity({
  config,
  trainable,
  parameters,
  training,
  validation,
  settings,
}: TrainingRun): string {
  const hash = createHash('sha256');
  const add = (value: unknown) => hash.update(`${JSON.stringify(value)}\n`);
  add([config, methodOf(trainable), { ...settings, batchTokens: undefined, checkpointEvery: undefined }]);
  if (trainable.kind === 'adapter')
    for (const { name } of decoderTensors(config)) {
      const tensor = requireTensor(trainable.base, name);
      add([name, tensor.dtype]);
      for (const [start, length] of sampledParts(tensor.length))
        hash.update(readTensorBytes(tensor, start, length));
    }
  for (const { name, shape, values } of parameters) {
    add([name, shape]);
    const { buffer, byteOffset, byteLength } = values;
    for (const [start, length] of sampledParts(byteLength))
      hash.update(new Uint8Array(buffer, byteOffset + start, length));
  }
  for (const examples of [training, validation]) {
    add(examples.length);
    for (const example of examples) add(example);
  }
  return hash.digest('hex');
}

function methodOf(trainable: Trainable): unknown {
  return trainable.kind === 'all' ? 'all' : [trainable.lora, trainable.quantized?.bits ?? null];
}
