import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeSafetensors } from '../../../../finetune/engine/safetensors-writer.js';
import { translateModules } from '../../../../finetune/engine/trainable.js';
import { checkModel } from '../../../../src/models/local/engine/inspect.js';
import { parseDecoderConfig, readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { ropeFrequencies } from '../../../../src/models/local/graph/rotation.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readTensorBytes } from '../../../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { familyDirectory } from '../reference-families.js';

type Config = Record<string, unknown>;
const parse = (raw: object) => parseDecoderConfig(raw, 'config.json');
const configOf = (name: string) =>
  JSON.parse(readFileSync(path.join(familyDirectory(name), 'config.json'), 'utf8')) as Config;
const without = (config: Config, ...keys: string[]) =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));

describe('config keys that are nested, missing or in an older spelling', () => {
  it('Gemma 3: RoPE by layer type and the window pattern are read; embeddings are tied by default', () => {
    const old = {
      ...without(
        { ...configOf('gemma3'), num_hidden_layers: 6 },
        'rope_parameters',
        'layer_types',
        'tie_word_embeddings',
        '_sliding_window_pattern',
      ),
      rope_theta: 50_000,
      rope_local_base_freq: 1000,
      rope_scaling: { rope_type: 'linear', factor: 8 },
      sliding_window_pattern: 3,
      cache_implementation: 'hybrid',
    };
    const { layers, tied } = parse(old);
    const [local, global] = [
      { rope: { theta: 1000, scaling: 'none' }, window: 8 },
      { rope: { theta: 50_000, scaling: 'linear', factor: 8 }, window: undefined },
    ];
    expect(layers).toEqual([local, local, global, local, local, global]);
    expect(tied).toBe(true);
  });

  it('Qwen3.5 with vision: layer types, gates and rotary width of the text model are read', () => {
    const text = {
      attention_bias: false,
      attn_output_gate: true,
      dtype: 'bfloat16',
      eos_token_id: 248_044,
      full_attention_interval: 4,
      head_dim: 256,
      hidden_act: 'silu',
      hidden_size: 1024,
      intermediate_size: 3584,
      linear_conv_kernel_dim: 4,
      linear_key_head_dim: 128,
      linear_num_key_heads: 16,
      linear_num_value_heads: 16,
      linear_value_head_dim: 128,
      mamba_ssm_dtype: 'float32',
      max_position_embeddings: 262_144,
      mlp_only_layers: [],
      model_type: 'qwen3_5_text',
      mtp_num_hidden_layers: 1,
      mtp_use_dedicated_embeddings: false,
      num_attention_heads: 8,
      num_hidden_layers: 8,
      num_key_value_heads: 2,
      rope_parameters: {
        mrope_interleaved: true,
        mrope_section: [11, 11, 10],
        partial_rotary_factor: 0.25,
        rope_theta: 10_000_000,
        rope_type: 'default',
      },
      tie_word_embeddings: true,
      vocab_size: 248_320,
    };
    const whole = {
      architectures: ['Qwen3_5ForConditionalGeneration'],
      image_token_id: 248_056,
      model_type: 'qwen3_5',
      text_config: text,
      tie_word_embeddings: true,
      vision_config: { depth: 12 },
    };
    const config = parse(whole);
    expect(config).toMatchObject({ rotaryWidth: 64, queryGate: true, tied: true, contextTokens: 262_144 });
    const linearLayers = (given: object) =>
      parse(given).layers.flatMap(({ recurrence }, i) => (recurrence ? [i] : []));
    expect(linearLayers(whole)).toEqual([0, 1, 2, 4, 5, 6]);
    expect(config.layers[3]!.rope).toEqual({ theta: 1e7, scaling: 'none' });
    const types = (...names: string[]) => ({ ...text, layer_types: names, num_hidden_layers: names.length });
    expect(linearLayers(types('full_attention', 'linear_attention'))).toEqual([1]);
    const defaults = parse(without(text, 'linear_num_value_heads', 'head_dim', 'rope_parameters'));
    expect(defaults.layers[0]!.recurrence).toMatchObject({ valueHeads: 32, keyHeads: 16 });
    expect(defaults).toMatchObject({ headDim: 256, rotaryWidth: 64 });
    expect(() => parse({ ...text, linear_num_key_heads: 3 })).toThrow(/linear_num_key_heads: is not supp/);
    expect(() => parse({ ...text, attn_output_gate: false })).toThrow(/attn_output_gate: unknown key/);
    expect(() => parse(types('linear_attention'))).toThrow(
      /layer_types: is not supported[\s\S]*full_attention/,
    );
    expect(() => parse(types('mamba', 'full_attention'))).toThrow(
      /layer_types\.0: is not supported[\s\S]*linear_attention/,
    );
  });

  it('Gemma 3 with vision: keys missing from text_config get defaults', () => {
    const text = {
      hidden_size: 2560,
      intermediate_size: 10_240,
      model_type: 'gemma3_text',
      num_hidden_layers: 34,
      sliding_window: 1024,
    };
    const config = parse({
      architectures: ['Gemma3ForConditionalGeneration'],
      eos_token_id: [1, 106],
      model_type: 'gemma3',
      mm_tokens_per_image: 256,
      text_config: { ...text, rope_scaling: { factor: 8.0, rope_type: 'linear' } },
      vision_config: { hidden_size: 1152 },
    });
    expect(config).toMatchObject({
      heads: 8,
      kvHeads: 4,
      headDim: 256,
      vocabulary: 262_208,
      tied: true,
      eosTokens: [1, 106],
      contextTokens: 131_072,
    });
    expect(config.layers[5]).toEqual({
      rope: { theta: 1e6, scaling: 'linear', factor: 8 },
      window: undefined,
    });
    expect(config.layers[4]).toEqual({ rope: { theta: 1e4, scaling: 'none' }, window: 1024 });
  });

  it('SmolLM3: every fourth layer has no rotary embedding by default', () => {
    const config = parse(
      without(configOf('smollm3'), 'no_rope_layers', 'layer_types', 'tie_word_embeddings'),
    );
    expect(config.layers.map(({ rope }) => rope === undefined)).toEqual([false, false, false, true]);
    expect(config.tied).toBe(true);
  });

  it('Phi: longrope is read under its older names, with the original context outside rope_scaling', () => {
    const { rope_parameters: rope, ...rest } = configOf('phi3-longrope') as Config & {
      rope_parameters: Config;
    };
    const { short_factor, long_factor } = rope;
    for (const type of ['su', 'longrope', 'yarn'])
      expect(parse({ ...rest, rope_theta: 1e4, rope_scaling: { type, short_factor, long_factor } })).toEqual(
        parse({ ...rest, rope_parameters: rope }),
      );
    expect(() => parse({ ...rest, rope_scaling: { type: 'su', short_factor: [1], long_factor } })).toThrow(
      /rope_scaling\.short_factor: is not supported/,
    );
  });

  it.each([
    ['llama', false],
    ['gemma2', true],
    ['smollm3', true],
    ['granite', false],
    ['phi3', false],
  ])('%s: a missing tie_word_embeddings means %s', (model_type, tied) => {
    const sizes = {
      hidden_size: 32,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      intermediate_size: 64,
      vocab_size: 96,
    };
    expect(parse({ model_type, ...sizes }).tied).toBe(tied);
  });
});

describe('yarn', () => {
  it('can be added to a Qwen2.5 config, and extends its context', () => {
    const qwen = without(configOf('qwen2-yarn'), 'rope_parameters');
    const yarn = { factor: 4.0, original_max_position_embeddings: 32_768, type: 'yarn' };
    const config = parse({ ...qwen, max_position_embeddings: 32_768, rope_theta: 1e6, rope_scaling: yarn });
    expect(config.contextTokens).toBe(131_072);
    const frequencies = ropeFrequencies(config.layers[0]!.rope!, 128);
    const plain = ropeFrequencies({ theta: 1e6, scaling: 'none' }, 128);
    expect(frequencies[0]).toBeCloseTo(plain[0]!, 12);
    expect(frequencies[63]! / plain[63]!).toBeCloseTo(0.25, 6);
  });

  it('is rejected without a factor, and so is dynamic scaling', () => {
    const { rope_parameters: _, ...rest } = configOf('qwen2-yarn');
    expect(() => parse({ ...rest, rope_scaling: { type: 'yarn' } })).toThrow(
      /rope_scaling\.factor: is missing/,
    );
    expect(() => parse({ ...rest, rope_scaling: { type: 'dynamic', factor: 2 } })).toThrow(
      /rope_scaling\.rope_type: is not supported[\s\S]*"dynamic"/,
    );
  });
});

describe('features of a family that the decoder does not support', () => {
  it.each([
    ['granite4', { num_local_experts: 8 }, /num_local_experts: unknown key that may change/],
    [
      'granite4',
      { layer_types: ['mamba', 'attention', 'mamba', 'attention'] },
      /layer_types: is not supported[\s\S]*mamba/,
    ],
    ['granite4', { layer_types: undefined }, /layer_types: is not supported/],
    [
      'gemma3',
      { use_bidirectional_attention: true },
      /use_bidirectional_attention: unknown key that may change/,
    ],
    ['gemma2', { hidden_activation: 'gelu' }, /hidden_activation: is not supported/],
    ['phi3-window', { attention_bias: true }, /attention_bias: is not supported/],
    [
      'ministral3',
      { rope_parameters: { rope_type: 'yarn', factor: 2, surprise: 1 } },
      /surprise: unknown key that may change/,
    ],
    ['granite', { rope_parameters: { rope_type: 'longrope', factor: 2 } }, /rope_type: is not supported/],
  ])('%s with %o is rejected with an error that names the key', (name, change, message) => {
    expect(() => parse(JSON.parse(JSON.stringify({ ...configOf(name), ...change })) as object)).toThrow(
      message,
    );
  });
});

it.each(['language_model.model.', 'model.language_model.'])(
  "only the text model's weights are read from a vision model with the prefix %s",
  (prefix) => {
    const textModel = familyDirectory('gemma3');
    const directory = path.join(temporaryDirectory(), 'pictures');
    cpSync(textModel, directory, { recursive: true });
    const file = path.join(directory, 'model.safetensors');
    const bytes = new Map(
      [...openWeights(directory).values()].map((tensor) => [tensor.name, readTensorBytes(tensor)]),
    );
    const tensors = [...openWeights(directory).values()].map((tensor) => ({
      name: tensor.name.replace('model.', prefix),
      dtype: tensor.dtype,
      shape: tensor.shape,
      byteLength: tensor.length,
      chunks: () => [bytes.get(tensor.name)!],
    }));
    const ofPictures = { ...tensors[0]!, name: 'vision_tower.vision_model.embeddings.weight' };
    writeSafetensors(file, [...tensors, ofPictures]);
    const text = configOf('gemma3');
    writeFileSync(
      path.join(directory, 'config.json'),
      JSON.stringify({
        model_type: 'gemma3',
        architectures: ['Gemma3ForConditionalGeneration'],
        text_config: text,
      }),
    );
    expect(() => checkModel(directory)).not.toThrow();
    expect([...openWeights(directory).keys()].sort()).toEqual([...openWeights(textModel).keys()].sort());
    expect(readDecoderConfig(directory).modules).toEqual(readDecoderConfig(textModel).modules);
  },
);

it("Llama's module names select the corresponding projections of a model for LoRA", () => {
  const llama = ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'];
  const names = (name: string) => translateModules(readDecoderConfig(familyDirectory(name)), llama);
  expect(names('qwen2-yarn')).toEqual(llama);
  expect(names('phi3-window')).toEqual(['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj']);
  expect(names('granite4')).toEqual(['q_proj', 'v_proj', 'o_proj', 'input_linear', 'output_linear']);
});
