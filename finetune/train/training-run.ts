/** Inputs and identity of a training run. A checkpoint can only be resumed by the run with the same identity. */

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

/** The config schema documents the fields taken from it. */
export interface TrainingSettings extends OrderSettings, Readonly<Pick<TrainConfig, Configured>> {
  readonly adamw: AdamWSettings;
  /** If set, Muon trains the layers' matrices; only when all weights are trained. */
  readonly muon?: MuonSettings | undefined;
  /** DPO settings; requires packing `pairs`. Undefined means supervised training. */
  readonly dpo?: { readonly beta: number } | undefined;
  /** Weight of the tokens between answers relative to the answers' tokens; requires packing `conversations`. */
  readonly observationWeight?: number | undefined;
  /** Undefined disables gradient clipping. */
  readonly maxGradientNorm: number | undefined;
  /** Undefined disables early stopping. */
  readonly patience: number | undefined;
}

export interface TrainingRun {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  /** Initial values; training updates them in place. */
  readonly parameters: readonly Parameter[];
  readonly training: readonly TokenExample[];
  /** May be empty: then there is no validation, and the last values are the result. */
  readonly validation: readonly TokenExample[];
  readonly settings: TrainingSettings;
  readonly device: string;
  /** CPU threads. The number affects the order of summation and so the last bits of the results. */
  readonly threads: number;
  /** Path of the checkpoint; training resumes from it if it exists. */
  readonly checkpoint: string;
}

/**
 * SHA-256 of everything that determines the result: model, frozen and initial weights (sampled), method,
 * settings, examples. Excludes `batchTokens` and `checkpointEvery`, which don't change what a step learns; a
 * run that ran out of memory can thus resume with a smaller `batchTokens`.
 */
export function trainingIdentity(run: TrainingRun): string {
  const { config, trainable, parameters, training, validation, settings } = run;
  const hash = createHash('sha256');
  const add = (value: unknown) => hash.update(`${JSON.stringify(value)}\n`);
  const method = trainable.kind === 'all' ? 'all' : [trainable.lora, trainable.quantized?.rounded ?? null];
  if (trainable.kind === 'adapter' && trainable.int8 !== undefined) add('products in int8');
  add([config, method, { ...settings, batchTokens: undefined, checkpointEvery: undefined }]);
  // Earlier versions also decayed norms and biases; this line keeps their checkpoints from being resumed.
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
