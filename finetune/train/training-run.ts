/** The inputs of a training, and its identity: a checkpoint goes on only as the training that wrote it. */

import { createHash } from 'node:crypto';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readTensorBytes, sampledParts } from '../../src/models/local/weights/safetensors.js';
import type { TokenExample } from '../engine/batch.js';
import type { AdamWSettings, MuonSettings } from '../engine/optimisers.js';
import type { Trainable } from '../engine/trainable.js';
import type { Parameter } from '../engine/training-session.js';
import type { OrderSettings } from './order.js';
import type { TrainConfig } from './train-config.js';

type Configured =
  | 'epochs'
  | 'learningRate'
  | 'schedule'
  | 'warmupSteps'
  | 'learningRateFloor'
  | 'evaluateEvery'
  | 'checkpointEvery';

/** The schema of the config describes the fields that it has. */
export interface TrainingSettings extends OrderSettings, Readonly<Pick<TrainConfig, Configured>> {
  readonly adamw: AdamWSettings;
  /** Muon trains the matrices of the layers; only in a training of all weights. */
  readonly muon?: MuonSettings | undefined;
  /** With the packing `pairs`: the weight of DPO's reference. Undefined: supervised. */
  readonly dpo?: { readonly beta: number } | undefined;
  /** With the packing `conversations`: that of the tokens between the answers, for one of the answers' own. */
  readonly observationWeight?: number | undefined;
  /** Undefined: gradients are not clipped. */
  readonly maxGradientNorm: number | undefined;
  /** Undefined: the training never ends early. */
  readonly patience: number | undefined;
}

export interface TrainingRun {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  /** First values; they are changed. */
  readonly parameters: readonly Parameter[];
  readonly training: readonly TokenExample[];
  /** May be empty: then nothing is validated and the last values are the result. */
  readonly validation: readonly TokenExample[];
  readonly settings: TrainingSettings;
  readonly device: string;
  /** Threads of the processor. Another number sums in another order, so that results differ in their last bits. */
  readonly threads: number;
  /** File of the state; training goes on from it when it exists. */
  readonly checkpoint: string;
}

/**
 * SHA-256 of everything that the result depends on: model, frozen and first weights (by samples of each), method,
 * settings, examples. `batchTokens` doesn't count, since the same examples make up a step: where memory ran out, a
 * training can go on with a smaller one.
 */
export function trainingIdentity(run: TrainingRun): string {
  const { config, trainable, parameters, training, validation, settings } = run;
  const hash = createHash('sha256');
  const add = (value: unknown) => hash.update(`${JSON.stringify(value)}\n`);
  const method = trainable.kind === 'all' ? 'all' : [trainable.lora, trainable.quantized?.rounded ?? null];
  if (trainable.kind === 'adapter' && trainable.int8 !== undefined) add('products in int8');
  add([config, method, { ...settings, batchTokens: undefined, checkpointEvery: undefined }]);
  // Earlier versions shrank norms and biases, too: a training of theirs would go on as another.
  if (trainable.kind === 'all') add('decays matrices');
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
