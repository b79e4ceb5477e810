/** What TRL computed: see test/fixtures/objectives/make.py. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TrainableSpec } from '../../../../finetune/engine/trainable.js';
import type { Parameter } from '../../../../finetune/engine/training-session.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { adapterPrefix } from '../../../../src/models/local/graph/adapter.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readSafetensors, readTensorBytes } from '../../../../src/models/local/weights/safetensors.js';
import { familyDirectory } from '../../../models/local/reference-families.js';

const folder = path.resolve(import.meta.dirname, '../../../fixtures/objectives');

interface TrlFile {
  readonly discount: number;
  readonly lambda: number;
  readonly rank: number;
  readonly alpha: number;
  readonly modules: readonly string[];
  readonly completions: readonly {
    readonly prompt_ids: readonly number[];
    readonly completion_ids: readonly number[];
    readonly trained: readonly boolean[];
    readonly advantage: number;
    readonly logp: readonly number[];
    readonly old_logp: readonly number[];
    readonly sampler_logp: readonly number[];
    readonly reference_logp: readonly number[];
    readonly rewards: readonly number[];
    readonly old_values: readonly number[];
    readonly last_value: number;
    readonly estimates: readonly number[];
    readonly returns: readonly number[];
  }[];
  readonly cases: readonly {
    readonly name: string;
    readonly objective: { readonly kind: string };
    readonly loss: number;
    readonly temperature: number;
    readonly reused: boolean;
    readonly environment: boolean;
    readonly beta?: number;
  }[];
}

export const trl = JSON.parse(readFileSync(path.join(folder, 'trl.json'), 'utf8')) as TrlFile;

const gpt2 = familyDirectory('gpt2');

export const trlConfig = readDecoderConfig(gpt2);
export const trlTrainable: TrainableSpec = {
  kind: 'adapter',
  lora: { rank: trl.rank, alpha: trl.alpha, modules: trl.modules, dropout: 0, rankStabilized: false },
  base: openWeights(gpt2),
};

const { tensors } = readSafetensors(path.join(folder, 'trl.safetensors'));
const stored = new Map(
  tensors.map((tensor) => {
    const bytes = Uint8Array.from(readTensorBytes(tensor));
    const name = tensor.name.replace(adapterPrefix, '');
    return [name, { name, shape: tensor.shape, values: new Float64Array(bytes.buffer) }] as const;
  }),
);

const values = [...stored.values()].filter(({ name }) => !name.includes(': '));

/** The adapter at which everything was computed, by its parameters' names. */
export const trlAdapter: readonly Parameter[] = values.filter(({ name }) => name.includes('lora'));

export const trlValueHead: readonly Parameter[] = values.filter(({ name }) => name.startsWith('value_head'));

/** The gradient of a parameter in a case. */
export function trlGradient(name: string, parameter: string): Float64Array {
  return stored.get(`${name}: ${parameter}`)!.values;
}
