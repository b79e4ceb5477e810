/**
 * Merges an adapter into a GGUF file and writes a Hugging Face directory, with float weights and a tokenizer
 * rebuilt from metadata.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { parseDecoderConfig, readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../src/models/local/graph/adapter.js';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import { ggufTokenizerConfig, ggufTokenizerJson } from '../../src/models/local/tokens/gguf-tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { ggufEndTokens } from '../../src/models/local/weights/generation-config.js';
import { type GgufFile, openGguf } from '../../src/models/local/weights/gguf.js';
import { blockType } from '../../src/models/local/weights/gguf-blocks.js';
import { ggufConfig } from '../../src/models/local/weights/gguf-config.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { safetensorsParts, type TensorToWrite } from '../engine/safetensors-writer.js';
import { elementCount } from '../engine/trainable.js';
import { makeRoom, type WriteHooks, writeParts } from './file-parts.js';
import { adapterChanges, encodeFloats, mergedRows, requireHalves } from './merged-rows.js';
import { makeModelDirectory } from './model-directory.js';

/** Transformers' class names by `model_type`, for programs that need them. */
const classes: Readonly<Record<string, string>> = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
  smollm3: 'SmolLM3ForCausalLM',
  granite: 'GraniteForCausalLM',
  gemma2: 'Gemma2ForCausalLM',
  gemma3_text: 'Gemma3ForCausalLM',
  phi3: 'Phi3ForCausalLM',
  olmo2: 'Olmo2ForCausalLM',
  olmo3: 'Olmo3ForCausalLM',
  ministral3: 'Ministral3ForCausalLM',
  lfm2: 'Lfm2ForCausalLM',
};

/**
 * @param float32 true writes all weights in float32, which is exact; false converts quantized blocks to
 *   float16
 * @returns the number of changed matrices, and the bytes of all weights
 * @throws UserError if config.json can't express the model in the file
 */
export async function mergeGguf(
  model: string,
  adapter: Adapter,
  output: string,
  float32: boolean,
  hooks: WriteHooks & { onStart?(bytes: number): void },
): Promise<{ readonly changedMatrices: number; readonly bytes: number }> {
  const gguf = openGguf(model);
  const config = readDecoderConfig(model);
  const { json, offset } = sameConfig(gguf, config);
  const weights = openWeights(model);
  const changes = adapterChanges(adapter, weights);
  const tensors = decoderTensors(config).map(({ name, shape }): TensorToWrite => {
    const weight = requireTensor(weights, name);
    const isBlocks = blockType(weight.dtype)?.packing !== undefined;
    const dtype = float32 ? 'F32' : isBlocks ? 'F16' : (weight.dtype as 'F32' | 'F16' | 'BF16');
    const less = offset !== 0 && name.endsWith('norm.weight') ? offset : 0;
    return {
      name,
      shape,
      dtype,
      byteLength: elementCount(shape) * (dtype === 'F32' ? 4 : 2),
      *chunks() {
        for (const { values } of mergedRows(weight, changes.get(name))) {
          if (dtype === 'F16') requireHalves(values, name);
          yield encodeFloats(less === 0 ? values : values.map((value) => value - less), dtype);
        }
      },
    };
  });
  const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  await makeModelDirectory(output, async (directory) => {
    makeRoom(directory, bytes);
    hooks.onStart?.(bytes);
    const write = (name: string, content: object) =>
      writeFileSync(path.join(directory, name), `${JSON.stringify(content, undefined, 2)}\n`);
    const ends = ggufEndTokens(gguf);
    write('config.json', { ...json, dtype: float32 ? 'float32' : 'float16', eos_token_id: ends });
    write('generation_config.json', { eos_token_id: ends });
    write('tokenizer.json', { version: '1.0', ...ggufTokenizerJson(gguf) });
    write('tokenizer_config.json', {
      tokenizer_class: 'PreTrainedTokenizerFast',
      ...ggufTokenizerConfig(gguf),
    });
    const parts = safetensorsParts(tensors, { format: 'pt' });
    await writeParts(path.join(directory, 'model.safetensors'), parts, hooks);
  });
  return { changedMatrices: changes.size, bytes };
}

/** Converts the file's metadata to config.json, and parses the result to check that it means the same. */
function sameConfig(gguf: GgufFile, config: DecoderConfig) {
  const json = ggufConfig(gguf);
  const type = String(json.model_type);
  const read = parseDecoderConfig(json, gguf.file);
  const { offset } = read.norm;
  const meant: DecoderConfig = { ...read, norm: { ...read.norm, offset: config.norm.offset } };
  const same = JSON.stringify(meant) === JSON.stringify(config);
  if (same && Object.hasOwn(classes, type))
    return { json: { architectures: [classes[type]], ...json }, offset: offset - config.norm.offset };
  throw new UserError({
    file: gguf.file,
    field: 'general.architecture',
    value: gguf.metadata.get('general.architecture'),
    message: `the config.json of a directory can’t say all that this file does${gguf.tensors.has('rope_freqs.weight') ? ' (the divisors in rope_freqs)' : ''}`,
    remedy: 'write a GGUF file: policyloop finetune gguf tuned/adapter --out tuned.gguf',
  });
}
