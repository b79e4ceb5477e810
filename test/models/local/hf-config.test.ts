import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDecoderConfig, readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { ropeFrequencies } from '../../../src/models/local/graph/rotation.js';
import { readGenerationDefaults } from '../../../src/models/local/weights/generation-config.js';
import { referenceDirectory } from './fixture.js';
import { familyDirectory } from './reference-families.js';

const llama = JSON.parse(
  readFileSync(`${referenceDirectory('llama3-rope-bf16')}/config.json`, 'utf8'),
) as Record<string, unknown>;
const qwen2 = JSON.parse(
  readFileSync(`${referenceDirectory('qwen2-tied-bf16-sharded')}/config.json`, 'utf8'),
) as Record<string, unknown>;
const parse = (raw: object) => parseDecoderConfig(raw, 'config.json');

/** The same config as older releases wrote it. */
function oldSpelling(config: Record<string, unknown>): Record<string, unknown> {
  const { dtype, rope_parameters, ...rest } = config;
  const { rope_theta, rope_type, ...scaling } = rope_parameters as Record<string, unknown>;
  const rope_scaling = rope_type === 'default' ? null : { ...scaling, rope_type };
  return { ...rest, torch_dtype: dtype, rope_theta, rope_scaling };
}

test.each([
  ['llama', llama],
  ['qwen2', qwen2],
])('old and new spellings of a %s config give the same result', (_, config) => {
  expect(parse(oldSpelling(config))).toEqual(parse(config));
});

test('rotary parameters can be given for each layer type', () => {
  const nested = {
    ...qwen2,
    use_sliding_window: true,
    sliding_window: 16,
    layer_types: ['full_attention', 'sliding_attention', 'full_attention'],
    rope_parameters: {
      full_attention: { rope_type: 'linear', rope_theta: 1000, factor: 2 },
      sliding_attention: { rope_type: 'default', rope_theta: 500 },
    },
  };
  expect(parse(nested).layers).toEqual([
    { rope: { theta: 1000, scaling: 'linear', factor: 2 }, window: undefined },
    { rope: { theta: 500, scaling: 'none' }, window: 16 },
    { rope: { theta: 1000, scaling: 'linear', factor: 2 }, window: undefined },
  ]);
});

test("sliding windows apply to all layers of Mistral and, if enabled, to Qwen's after the first max_window_layers", () => {
  const windows = (raw: object) => parse(raw).layers.map((layer) => layer.window);
  const mistral = { ...llama, model_type: 'mistral', architectures: ['MistralForCausalLM'] };
  expect(windows({ ...mistral, sliding_window: 8 })).toEqual([8, 8, 8]);
  expect(windows({ ...mistral, sliding_window: null })).toEqual([undefined, undefined, undefined]);
  expect(windows(mistral)).toEqual([4096, 4096, 4096]);
  const { layer_types: _, ...qwen } = qwen2;
  expect(windows({ ...qwen, use_sliding_window: true, sliding_window: 8, max_window_layers: 1 })).toEqual([
    undefined,
    8,
    8,
  ]);
  expect(windows({ ...qwen, use_sliding_window: false, sliding_window: 8, max_window_layers: 1 })).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('biases and head sizes follow the architecture and the config', () => {
  expect(readDecoderConfig(referenceDirectory('qwen2-tied-bf16-sharded'))).toMatchObject({
    bias: { qkv: true, output: false, mlp: false },
    headDim: 16,
    tied: true,
  });
  expect(readDecoderConfig(referenceDirectory('qwen3-fp32'))).toMatchObject({ qkNorm: true, headDim: 24 });
  expect(parse({ ...llama, attention_bias: true, mlp_bias: true }).bias).toEqual({
    qkv: true,
    output: true,
    mlp: true,
  });
});

test.each([
  [
    'model_type',
    { ...llama, model_type: 'qwen2_moe' },
    /not supported[\s\S]*qwen2_moe[\s\S]*llama, mistral, qwen2, qwen3/,
  ],
  [
    'architectures',
    { ...llama, architectures: ['LlamaForSequenceClassification'] },
    /not a causal language model/,
  ],
  ['hidden_act', { ...llama, hidden_act: 'gelu' }, /hidden_act[\s\S]*"gelu"[\s\S]*silu/],
  ['quantization_config', { ...llama, quantization_config: { quant_method: 'gptq' } }, /gptq/],
  [
    'rope_type',
    { ...llama, rope_parameters: { rope_type: 'dynamic', rope_theta: 1 } },
    /dynamic[\s\S]*default, linear, llama3/,
  ],
  ['rope factor', { ...llama, rope_parameters: { rope_type: 'linear' } }, /factor: is missing/],
  [
    'layer_types',
    { ...llama, layer_types: ['full_attention', 'linear_attention', 'full_attention'] },
    /layer_types.1/,
  ],
  ['hidden_size', { ...llama, hidden_size: undefined }, /hidden_size/],
])('a config with an unsupported or missing %s is rejected', (_, raw, message) => {
  expect(() => parse(raw)).toThrow(message);
});

test('generation defaults come from generation_config.json, not from config.json', () => {
  expect(readGenerationDefaults(referenceDirectory('qwen3-fp32'))).toEqual({ eosTokens: [2] });
  expect(readGenerationDefaults(familyDirectory('gemma2'))).toEqual({ eosTokens: [] });
});

test('Llama 3 scaling keeps short wavelengths, stretches long ones and interpolates in between', () => {
  const plain = ropeFrequencies({ theta: 500_000, scaling: 'none' }, 128);
  const scaled = ropeFrequencies(
    {
      theta: 500_000,
      scaling: 'llama3',
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContext: 8192,
    },
    128,
  );
  const ratios = scaled.map((frequency, i) => plain[i]! / frequency);
  expect(ratios[0]).toBe(1);
  expect(ratios.at(-1)).toBeCloseTo(8, 5);
  expect(ratios.some((ratio) => ratio > 1.01 && ratio < 7.99)).toBe(true);
  for (let i = 1; i < ratios.length; i++) expect(ratios[i]).toBeGreaterThanOrEqual(ratios[i - 1]! - 1e-6);
});
