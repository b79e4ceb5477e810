/** First values of adapters, and the directory that PEFT and vLLM load. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { adapterPrefix } from '../../src/models/local/graph/adapter.js';
import { createGenerator } from '../../src/random/generator.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import { elementCount, type LoraSettings, type ParameterShape } from './trainable.js';
import type { Parameter } from './training-session.js';

/** First values as PEFT draws them: A uniform in ±1/√in (Kaiming with a = √5), B zero, so that nothing changes at first. */
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

/**
 * Writes `adapter_config.json` and `adapter_model.safetensors`.
 * @param baseModel path or name of the model that the adapter belongs to
 */
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
  writeFileSync(path.join(directory, 'adapter_config.json'), `${JSON.stringify(config, null, 2)}\n`);
}
