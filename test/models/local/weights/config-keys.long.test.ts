import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { writeSafetensors } from '../../../../finetune/engine/safetensors-writer.js';
import { packageRoot } from '../../../../src/base/package.js';
import { inspectModel } from '../../../../src/models/local/engine/inspect.js';
import { parseDecoderConfig, readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { createLocalModel } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { withoutKeys } from '../../../../src/models/local/weights/config-keys.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readTensorBytes, type StoredTensor } from '../../../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory } from '../fixture.js';

/** `config.json` as published with models of the supported families, according to their model cards. */
const publishedConfigs = JSON.parse(
  readFileSync(path.join(packageRoot(), 'test/fixtures/published-configs.json'), 'utf8'),
) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Families that are not supported. */
const otherFamilies = ['gemma4_text', 'qwen3_moe', 'qwen3_next', 'gpt_oss', 'cohere'];

const parse = (raw: object) => parseDecoderConfig(raw, 'config.json');
const qwen3 = publishedConfigs['Qwen 3']!;
const llama = publishedConfigs.TinyLlama!;
const mistral = publishedConfigs['Mistral 0.1']!;

function modelWith(change: Record<string, unknown>, name = 'qwen2-tied-bf16-sharded'): string {
  const directory = path.join(temporaryDirectory(), 'model');
  cpSync(referenceDirectory(name), directory, { recursive: true });
  const file = path.join(directory, 'config.json');
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...change }));
  return directory;
}

describe('keys of config.json', () => {
  it.each(Object.entries(publishedConfigs))('the config of %s is accepted', (_, config) => {
    expect(parse(config).hidden).toBe(config.hidden_size);
  });

  it.each(otherFamilies)('%s is rejected because of its architecture, not its keys', (family) => {
    const other = { ...llama, model_type: family, query_pre_attn_scalar: 256, embedding_multiplier: 12 };
    expect(() => parse(other)).toThrow(/model_type: this architecture is not supported/);
  });

  it.each([
    ['embedding_multiplier', 12],
    ['attn_logit_softcapping', 50],
    ['clip_qkv', 8],
    ['dual_chunk_attention_config', { chunk_size: 262144 }],
    ['is_causal', false],
    ['use_rope', false],
    ['num_experts', 8],
    ['text_config', { hidden_size: 8 }],
    ['something_new', 'yes'],
  ])('%s: %j is rejected, and a hint says how to ignore the key', (key, value) => {
    const config = { ...llama, [key]: value };
    expect(() => parse(config)).toThrow(new RegExp(`config.json: ${key}: unknown key that may change`));
    expect(() => parse(config)).toThrow(new RegExp(`hint: .*model\\.ignoreKeys=\\[${key}\\]`));
    expect(parse(withoutKeys(config, [key]) as object)).toEqual(parse(llama));
  });

  it.each([
    ['embedding_multiplier', 1],
    ['attn_logit_softcapping', null],
    ['no_rope_layers', []],
    ['pruned_heads', {}],
    ['is_causal', true],
    ['position_bias', 'none'],
    ['quantization_config', {}],
    ['num_experts', 0],
  ])('%s: %j is accepted and has no effect', (key, value) => {
    expect(parse({ ...llama, [key]: value })).toEqual(parse(llama));
  });

  it('a key may confirm what an architecture always does, but not contradict it', () => {
    expect(parse({ ...qwen3, use_qk_norm: true }).qkNorm).toBe(true);
    expect(() => parse({ ...qwen3, use_qk_norm: false })).toThrow(/use_qk_norm: unknown key that may change/);
    expect(() => parse({ ...llama, use_qk_norm: true })).toThrow(/use_qk_norm/);
  });
});

describe('keys that only some architectures read', () => {
  it.each([
    ['mlp_bias', { ...qwen3, mlp_bias: true }, /mlp_bias: is not supported/],
    ['attention_bias', { ...mistral, attention_bias: true }, /attention_bias: is not supported/],
    ['sliding_window for llama', { ...llama, sliding_window: 1024 }, /sliding_window: is not supported/],
    [
      'layer_types for mistral',
      { ...mistral, layer_types: Array.from({ length: 32 }, () => 'full_attention') },
      /layer_types\.0: is not supported/,
    ],
    [
      'window layers without a window',
      { ...qwen3, layer_types: Array.from({ length: 24 }, () => 'sliding_attention') },
      /layer_types\.0: is not supported/,
    ],
  ])('are rejected for other architectures, or if they contradict each other: %s', (_, config, message) => {
    expect(() => parse(config)).toThrow(message);
  });

  it('a window that is switched off or longer than the context has no effect', () => {
    for (const off of [{ sliding_window: 4096 }, { sliding_window: 1024, use_sliding_window: false }])
      expect(parse({ ...llama, ...off }).layers).toEqual(parse(llama).layers);
  });
});

describe('keys of the rotary embedding', () => {
  it.each([
    ['rope_scaling.attention_factor', { rope_scaling: { type: 'linear', factor: 2, attention_factor: 2 } }],
    ['rope_scaling.mrope_section', { rope_scaling: { rope_type: 'default', mrope_section: [16, 24, 24] } }],
    ['rope_parameters.factor', { rope_parameters: { rope_type: 'default', rope_theta: 1e4, factor: 8 } }],
    [
      'rope_parameters.full_attention.mscale',
      { rope_parameters: { full_attention: { rope_type: 'linear', factor: 2, mscale: 1 } } },
    ],
  ])('%s is rejected for a RoPE type that does not read it', (key, change) => {
    const config = { ...llama, ...change };
    expect(() => parse(config)).toThrow(new RegExp(`${key}: unknown key that may change`));
    expect(parse(withoutKeys(config, [key]) as object).layers).toHaveLength(4);
  });

  it('are rejected if a layer type has no section, or if both rope_parameters and rope_scaling are set', () => {
    const sections = { sliding_attention: { rope_type: 'default', rope_theta: 500 } };
    expect(() => parse({ ...llama, rope_parameters: sections })).toThrow(
      /rope_parameters\.full_attention: is missing/,
    );
    const both = {
      rope_parameters: { rope_type: 'default', rope_theta: 1e4 },
      rope_scaling: { rope_type: 'linear', factor: 2 },
    };
    expect(() => parse({ ...llama, ...both })).toThrow(
      /rope_scaling: is not supported[\s\S]*rope_parameters is set/,
    );
  });
});

describe('model.ignoreKeys', () => {
  it('makes the model answer as it does without the key', async () => {
    const name = 'qwen2-tied-bf16-sharded';
    const model = createLocalModel(
      localSchema.parse({
        provider: 'local',
        path: modelWith({ some_scale: 3 }),
        ignoreKeys: ['some_scale'],
        threads: 1,
        maxTokens: 8,
        temperature: 0,
      }),
    );
    try {
      const [said] = await model.generate(readReference(name).messages, { seeds: [1] });
      expect(readReference(name).greedy_text.startsWith(said!.text)).toBe(true);
      expect((await model.context!())!.tokens).toBe(512);
    } finally {
      await model.close?.();
    }
  });
});

describe('an output layer stored despite `tie_word_embeddings: true`', () => {
  const bytesOf = (tensor: StoredTensor, bytes: Uint8Array, name = tensor.name) => ({
    name,
    shape: tensor.shape,
    dtype: tensor.dtype,
    byteLength: bytes.length,
    chunks: () => [bytes],
  });

  /** The tied model with the given rows as its stored head. */
  function withHead(change: (bytes: Buffer) => Buffer): string {
    const directory = modelWith({});
    const weights = openWeights(directory);
    const tensors = [...weights.values()].map((tensor) => bytesOf(tensor, readTensorBytes(tensor)));
    const embedding = weights.get('model.embed_tokens.weight')!;
    const head = bytesOf(embedding, change(readTensorBytes(embedding)), 'lm_head.weight');
    writeSafetensors(path.join(directory, 'model.safetensors'), [...tensors, head]);
    return directory;
  }

  test('is used if it differs from the embedding, as in Transformers 5', () => {
    // One bit in the middle of a part that no sample covers.
    const directory = withHead((bytes) => {
      const place = Math.floor(bytes.length / 4);
      bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
      return bytes;
    });
    expect(readDecoderConfig(directory).tied).toBe(false);
    expect(inspectModel(directory).problems).toEqual([]);
  });

  test('is ignored if it equals the embedding', () => {
    expect(readDecoderConfig(withHead((bytes) => bytes)).tied).toBe(true);
    expect(readDecoderConfig(referenceDirectory('qwen2-tied-bf16-sharded')).tied).toBe(true);
  });
});
