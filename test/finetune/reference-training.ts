import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TokenExample } from '../../finetune/engine/batch.js';
import type { LoraSettings } from '../../finetune/engine/trainable.js';
import { type AdaptableModule, readAdapter } from '../../src/models/local/graph/adapter.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes, type StoredTensors } from '../../src/models/local/weights/safetensors.js';
import { referenceDirectory } from '../models/local/fixture.js';

/** Results of training with PEFT. */
export interface ReferenceTraining {
  readonly examples: readonly TokenExample[];
  readonly lora: LoraSettings;
  readonly adamw: {
    readonly lr: number;
    readonly betas: readonly [number, number];
    readonly eps: number;
    readonly weight_decay: number;
  };
  readonly losses: readonly number[];
  readonly mergedLogits: readonly number[];
  readonly promptIds: readonly number[];
}

interface File {
  readonly training: {
    readonly examples: readonly {
      readonly user: string;
      readonly assistant: string;
      readonly prompt_ids: readonly number[];
      readonly completion_ids: readonly number[];
    }[];
    readonly lora: {
      readonly r: number;
      readonly lora_alpha: number;
      readonly lora_dropout: number;
      readonly target_modules: readonly AdaptableModule[];
    };
    readonly adamw: ReferenceTraining['adamw'];
    readonly losses: readonly number[];
  };
  readonly prompt_ids: readonly number[];
  readonly merged_last_logits: readonly number[];
}

function readFile(name: string): File {
  return JSON.parse(readFileSync(path.join(referenceDirectory(name), 'reference.json'), 'utf8')) as File;
}

/** The examples as text. */
export function trainingTexts(
  name: string,
): readonly { readonly user: string; readonly assistant: string }[] {
  return readFile(name).training.examples;
}

export function readReferenceTraining(name: string): ReferenceTraining {
  const file = readFile(name);
  const { examples, lora, adamw, losses } = file.training;
  return {
    examples: examples.map(({ prompt_ids, completion_ids }) => ({
      promptIds: prompt_ids,
      completionIds: completion_ids,
      weight: 1,
    })),
    lora: {
      rank: lora.r,
      alpha: lora.lora_alpha,
      dropout: lora.lora_dropout,
      rankStabilized: false,
      modules: lora.target_modules,
    },
    adamw,
    losses,
    mergedLogits: file.merged_last_logits,
    promptIds: file.prompt_ids,
  };
}

/** All tensors of an adapter by the model's own names. */
export function adapterValues(directory: string): Map<string, Float32Array> {
  const factors = [...readAdapter(directory).modules].flatMap(([module, { a, b }]) => [
    [`${module}.lora_A.weight`, a] as const,
    [`${module}.lora_B.weight`, b] as const,
  ]);
  return values(new Map(factors));
}

export function values(tensors: StoredTensors): Map<string, Float32Array> {
  return new Map(
    [...tensors].map(([name, tensor]) => [name, toFloat32(readTensorBytes(tensor), tensor.dtype).slice()]),
  );
}

/** ‖a − b‖ / ‖b‖ */
export function relativeDistance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let difference = 0;
  let size = 0;
  for (let i = 0; i < b.length; i++) {
    difference += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return a.length === b.length ? Math.sqrt(difference / size) : Number.NaN;
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = a.length === b.length ? 0 : Number.NaN;
  for (let i = 0; i < b.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!));
  return largest;
}
