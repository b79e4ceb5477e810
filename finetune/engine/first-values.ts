/** Provides initial parameter values, and writes adapter directories that PEFT and vLLM can load. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { readJson, replaceFile } from '../../src/base/files/files.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { adapterPrefix } from '../../src/models/local/graph/adapter.js';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readRows } from '../../src/models/local/weights/rows.js';
import type { StoredTensors } from '../../src/models/local/weights/safetensors.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import { elementCount, type LoraSettings, type ParameterShape } from './trainable.js';
import type { Parameter } from './training-session.js';

/** Initializes an adapter as in PEFT: A is uniform in ±1/√in (Kaiming, a = √5), and B is 0, so it has no effect yet. */
export function initialAdapter(parameters: readonly ParameterShape[], seed: number): Parameter[] {
  const random = createGenerator(seed);
  return parameters.map(({ name, shape }) => {
    const values = new Float32Array(elementCount(shape));
    if (name.endsWith('.lora_A.weight')) {
      const bound = 1 / Math.sqrt(shape[1]!);
      for (let i = 0; i < values.length; i++) values[i] = random.uniform(-bound, bound);
    }
    return { name, shape, values };
  });
}

/** Writes `adapter_config.json` and `adapter_model.safetensors`. */
export function writeAdapter(
  directory: string,
  parameters: readonly Parameter[],
  lora: LoraSettings,
  baseModel: string,
): void {
  mkdirSync(directory, { recursive: true });
  const tensors = parameters
    .map(({ name, shape, values }) => tensorOf({ name: adapterPrefix + name, shape }, values))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  writeSafetensors(path.join(directory, 'adapter_model.safetensors'), tensors, { format: 'pt' });
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModel,
    r: lora.rank,
    lora_alpha: lora.alpha,
    lora_dropout: lora.dropout,
    target_modules: lora.modules,
    use_rslora: lora.rankStabilized,
    use_dora: false,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    modules_to_save: null,
    rank_pattern: {},
    alpha_pattern: {},
  };
  replaceFile(path.join(directory, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`);
}

export function readWeights(config: DecoderConfig, weights: StoredTensors): Parameter[] {
  return decoderTensors(config).map(({ name, shape }) => {
    const tensor = requireTensor(weights, name);
    return { name, shape, values: readRows(tensor) };
  });
}

const rangeSchema = z.looseObject({ initializer_range: z.number().positive().default(0.02) });

/** Reads config.json's `initializer_range` (default: 0.02). @throws UserError if it isn't a positive number */
export function initializerRange(directory: string): number {
  const file = path.join(directory, 'config.json');
  const parsed = rangeSchema.safeParse(readJson(file) ?? {});
  if (parsed.success) return parsed.data.initializer_range;
  throw new UserError({ file, field: 'initializer_range', message: parsed.error.issues[0]!.message });
}

/**
 * Matrices are normally distributed, biases 0 and norm scales 1. With L layers, output projections, which write to the
 * residual stream, are divided by √(2L), so that the stream doesn't grow with depth (Radford et al. 2019).
 */
export function drawWeights(config: DecoderConfig, deviation: number, seed: number): Parameter[] {
  const random = createGenerator(seed);
  const { attentionOutput, down } = config.modules;
  const outputEndings = [attentionOutput, down, 'out_proj'].map((module) => `.${module}.weight`);
  return decoderTensors(config).map(({ name, shape }) => {
    const values = new Float32Array(elementCount(shape));
    const isOutput = outputEndings.some((ending) => name.endsWith(ending));
    const spread = isOutput ? deviation / Math.sqrt(2 * config.layers.length) : deviation;
    if (shape.length === 2) for (let i = 0; i < values.length; i++) values[i] = random.normal(0, spread);
    else if (!name.endsWith('.bias')) values.fill(1 - config.norm.offset);
    return { name, shape, values };
  });
}
