import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ggufValue } from '../../../../finetune/export/gguf/format.js';
import { cacheShape, KeyValueCache } from '../../../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildInferenceGraph } from '../../../../src/models/local/graph/decoder.js';
import { storedParameters } from '../../../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readRows } from '../../../../src/models/local/weights/rows.js';
import type { StoredTensor } from '../../../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { familyDirectory, readFamily } from '../reference-families.js';
import { type TestTensor, writeTestGguf } from './gguf-writer.js';

const { float32, int32s, string, uint32 } = ggufValue;

/** llama.cpp's names, as its converter writes them. */
const general: Readonly<Record<string, string>> = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};
const around = {
  post_attention_layernorm: 'post_attention_norm',
  pre_feedforward_layernorm: 'ffn_norm',
  post_feedforward_layernorm: 'post_ffw_norm',
};

interface Conversion {
  readonly architecture: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly interleaved?: boolean;
  readonly wholeNorms?: boolean;
  /** Below the architecture's name. */
  readonly keys?: Readonly<Record<string, Buffer>>;
  readonly factors?: Readonly<Record<string, readonly number[]>>;
  /** Keys of every file that this one has in other words. */
  readonly without?: readonly string[];
  /** Tensors of the part for pictures. */
  readonly pictures?: readonly string[];
  /** What else the converter does to a tensor. */
  readonly changed?: (name: string, values: Float32Array, columns: number) => Float32Array;
}

/** Rows, or blocks of rows, that come in groups, taken one from each group in turn. */
function tiled(values: Float32Array, groups: number, inGroup: number): Float32Array {
  const block = values.length / (groups * inGroup);
  const result = new Float32Array(values.length);
  for (let head = 0; head < groups * inGroup; head++) {
    const to = (head % inGroup) * groups + Math.floor(head / inGroup);
    result.set(values.subarray(head * block, (head + 1) * block), to * block);
  }
  return result;
}

/** Two key heads and four value heads: value heads are reordered, and decays aren't stored as logarithms. */
function asQwen35(name: string, values: Float32Array, columns: number): Float32Array {
  const heads = (part: Float32Array) => tiled(part, 2, 2);
  if (/A_log$/.test(name)) return heads(values.map((value) => -Math.exp(value)));
  if (/dt_bias$|in_proj_[abz]\.weight$/.test(name)) return heads(values);
  if (/in_proj_qkv\.weight$|conv1d\.weight$/.test(name)) {
    const keys = 2 * 16 * columns;
    return Float32Array.from([...values.subarray(0, keys), ...heads(values.subarray(keys))]);
  }
  if (!/linear_attn\.out_proj/.test(name)) return values;
  const rows = Array.from({ length: values.length / columns }, (_, row) =>
    heads(values.subarray(row * columns, (row + 1) * columns)),
  );
  return Float32Array.from(rows.flatMap((row) => [...row]));
}

const bools = (flags: readonly boolean[]) =>
  Buffer.concat([Buffer.from(Uint32Array.of(9, 7, flags.length, 0).buffer), Buffer.from(flags.map(Number))]);

const yarn = (factor: number) => ({
  'rope.scaling.type': string('yarn'),
  'rope.scaling.factor': float32(factor),
  'rope.scaling.original_context_length': uint32(16),
});

const conversions: Readonly<Record<string, Conversion>> = {
  'qwen2-yarn': { architecture: 'qwen2', keys: yarn(4) },
  smollm3: { architecture: 'smollm3', interleaved: true, keys: { 'rope.freq_base': float32(2e6) } },
  granite: {
    architecture: 'granite',
    interleaved: true,
    keys: {
      embedding_scale: float32(6),
      residual_scale: float32(0.4),
      'attention.scale': float32(0.2),
      logit_scale: float32(3),
    },
  },
  ministral3: {
    architecture: 'mistral3',
    interleaved: true,
    keys: {
      ...yarn(16),
      'rope.scaling.yarn_log_multiplier': float32(1),
      'attention.temperature_scale': float32(0.3),
    },
  },
  'phi3-longrope': {
    architecture: 'phi3',
    keys: {
      'rope.dimension_count': uint32(12),
      'rope.scaling.original_context_length': uint32(32),
      'rope.scaling.attn_factor': float32(Math.sqrt(1 + Math.log(8) / Math.log(32))),
    },
    factors: {
      rope_factors_short: [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
      rope_factors_long: [1.0, 1.5, 2.5, 4.0, 6.0, 8.0],
    },
  },
  gpt2: {
    architecture: 'gpt2',
    names: {
      'transformer.wte': 'token_embd',
      'transformer.wpe': 'position_embd',
      'transformer.ln_f': 'output_norm',
      ln_1: 'attn_norm',
      'attn.c_attn': 'attn_qkv',
      'attn.c_proj': 'attn_output',
      ln_2: 'ffn_norm',
      'mlp.c_fc': 'ffn_up',
      'mlp.c_proj': 'ffn_down',
    },
    keys: { context_length: uint32(128), 'attention.layer_norm_epsilon': float32(1e-5) },
    without: [
      'attention.layer_norm_rms_epsilon',
      'attention.head_count_kv',
      'attention.key_length',
      'attention.value_length',
    ],
  },
  qwen35: {
    architecture: 'qwen35',
    wholeNorms: true,
    names: {
      post_attention_layernorm: 'post_attention_norm',
      'linear_attn.in_proj_qkv': 'attn_qkv',
      'linear_attn.in_proj_z': 'attn_gate',
      'linear_attn.in_proj_a': 'ssm_alpha',
      'linear_attn.in_proj_b': 'ssm_beta',
      'linear_attn.conv1d': 'ssm_conv1d',
      'linear_attn.norm': 'ssm_norm',
      'linear_attn.out_proj': 'ssm_out',
      'linear_attn.A_log': 'ssm_a',
      'linear_attn.dt_bias': 'ssm_dt.bias',
    },
    keys: {
      'rope.dimension_count': uint32(8),
      'rope.dimension_sections': int32s([2, 1, 1, 0]),
      full_attention_interval: uint32(4),
      'ssm.conv_kernel': uint32(4),
      'ssm.group_count': uint32(2),
      'ssm.state_size': uint32(8),
      'ssm.time_step_rank': uint32(4),
      'ssm.inner_size': uint32(48),
    },
    changed: asQwen35,
  },
};

function bytesOf(
  tensor: StoredTensor,
  config: DecoderConfig,
  { interleaved, wholeNorms, changed = (_, same) => same }: Conversion,
) {
  const plain =
    tensor.shape.length === 3 ? { ...tensor, shape: [tensor.shape[0]!, tensor.shape[2]!] } : tensor;
  const read = changed(tensor.name, readRows(plain), plain.shape[1] ?? 1);
  const values = read.map((value) =>
    wholeNorms && /norm\.weight$/.test(tensor.name) && !/linear_attn/.test(tensor.name) ? value + 1 : value,
  );
  if (!interleaved || !/[qk]_proj/.test(tensor.name)) return new Uint8Array(values.buffer);
  const columns = tensor.shape[1] ?? 1;
  const turned = new Float32Array(values.length);
  for (let row = 0; row < tensor.shape[0]!; row++) {
    const place = row % config.headDim;
    const half = config.headDim / 2;
    const to = row - place + (place < half ? 2 * place : 2 * (place - half) + 1);
    turned.set(values.subarray(row * columns, (row + 1) * columns), to * columns);
  }
  return new Uint8Array(turned.buffer);
}

/** The model as llama.cpp's converter would write it, in float32. */
function converted(name: string, conversion: Conversion): string {
  const directory = familyDirectory(name);
  const config = readDecoderConfig(directory);
  const { architecture, names, keys, factors = {}, without = [], pictures = [] } = conversion;
  const map = { ...general, ...names };
  const tensors = [...openWeights(directory).values()].map((tensor): TestTensor => {
    const [, layer, path] = /^(?:(?:model\.layers|transformer\.h)\.(\d+)\.)?(.*)$/.exec(tensor.name)!;
    const [, module, part] = /^(.*)\.(weight|bias)$/.exec(path!) ?? [];
    const own = names?.[path!] ?? `${map[module!]}.${part}`;
    return {
      name: layer === undefined ? own : `blk.${layer}.${own}`,
      shape: tensor.shape.filter((size, i) => size > 1 || i !== 1),
      dtype: 'F32',
      bytes: bytesOf(tensor, config, conversion),
    };
  });
  for (const [factor, values] of Object.entries(factors)) {
    const bytes = new Uint8Array(Float32Array.from(values).buffer);
    tensors.push({ name: `${factor}.weight`, shape: [values.length], dtype: 'F32', bytes });
  }
  for (const picture of pictures)
    tensors.push({ name: `${picture}.weight`, shape: [8], dtype: 'F32', bytes: new Uint8Array(32) });
  const own = {
    block_count: uint32(config.layers.length),
    context_length: uint32(256),
    embedding_length: uint32(config.hidden),
    feed_forward_length: uint32(config.intermediate),
    'attention.head_count': uint32(config.heads),
    'attention.head_count_kv': uint32(config.kvHeads),
    'attention.key_length': uint32(config.headDim),
    'attention.value_length': uint32(config.headDim),
    'attention.layer_norm_rms_epsilon': float32(config.normEpsilon),
    ...keys,
  };
  const stated = Object.entries(own).filter(([key]) => !without.includes(key));
  const metadata = stated.map(([key, value]) => [`${architecture}.${key}`, value]);
  const file = path.join(temporaryDirectory(), `${name}.gguf`);
  return writeTestGguf(
    file,
    { 'general.architecture': string(architecture), ...Object.fromEntries(metadata) },
    tensors,
  );
}

async function logitsOf(
  file: string,
  ids: readonly number[],
  change: Partial<DecoderConfig> = {},
): Promise<Float32Array> {
  const config = { ...readDecoderConfig(file), ...change };
  const weights = openWeights(file);
  const graph = buildInferenceGraph(config, (g) => storedParameters(g, weights, 'float32'));
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  const [prompt, own] = [new KeyValueCache(shape), new KeyValueCache(shape)];
  own.reset(1);
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    promptCache: prompt,
    ownCache: own,
    sequenceTokens: ids.length,
    logitIndices: [ids.length - 1],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}

it.each(Object.entries(conversions))(
  '%s converted to GGUF gives the logits of Transformers',
  async (name, conversion) => {
    const file = converted(name, conversion);
    for (const { ids, last_logits } of readFamily(name).prompts) {
      const logits = await logitsOf(file, ids);
      expect(Math.max(...last_logits.map((value, i) => Math.abs(value - logits[i]!)))).toBeLessThan(1e-4);
    }
  },
);

describe('files converted by Ollama', () => {
  const { ministral3 } = conversions;
  it.each([
    [
      'ministral3',
      {
        ...ministral3!,
        keys: {
          'rope.scaling.type': string('yarn'),
          'rope.scaling.factor': float32(16),
          'rope.scaling.original_context_length': uint32(16),
          'rope.scaling.beta_fast': float32(32),
          'rope.scaling.beta_slow': float32(1),
          'rope.scaling.mscale': float32(1),
          'rope.scaling.mscale_all_dim': float32(1),
          'rope.scaling_beta': float32(0.3),
          'vision.block_count': uint32(2),
          image_token_index: uint32(10),
        },
        pictures: ['v.patch_conv', 'mm.linear_1'],
      },
    ],
  ])("%s: Ollama's own keys and names give the logits of Transformers", async (name, conversion) => {
    const file = converted(name, conversion);
    for (const { ids, last_logits } of readFamily(name).prompts) {
      const logits = await logitsOf(file, ids);
      expect(Math.max(...last_logits.map((value, i) => Math.abs(value - logits[i]!)))).toBeLessThan(1e-4);
    }
  });

  const gemma = (keys: Readonly<Record<string, Buffer>>, without: readonly string[] = []) =>
    readDecoderConfig(
      converted('gemma3', {
        architecture: 'gemma3',
        names: around,
        wholeNorms: true,
        keys: { 'attention.sliding_window': uint32(8), ...keys },
        without,
      }),
    );

  it("gemma3: missing keys get defaults, and Ollama's names of the RoPE bases are read", () => {
    const usual = gemma({ 'rope.freq_base': float32(2e6), 'rope.freq_base_swa': float32(5e3) });
    const keys = { 'rope.global.freq_base': float32(2e6), 'rope.local.freq_base': float32(5e3) };
    const own = gemma(keys, ['attention.layer_norm_rms_epsilon']);
    expect(own).toEqual({ ...usual, normEpsilon: 1e-6 });
    const long = gemma({
      ...keys,
      context_length: uint32(131_072),
      'attention.sliding_window_pattern': bools([true, false, true]),
    });
    expect(long.layers.map(({ rope }) => rope)).toEqual([
      { theta: 5e3, scaling: 'none' },
      { theta: 2e6, scaling: 'linear', factor: 8 },
      { theta: 5e3, scaling: 'none' },
    ]);
  });
});

it('a Granite file without rotary embedding is rejected', () => {
  const { keys, ...rest } = conversions.granite!;
  const file = converted('granite', {
    ...rest,
    keys: {
      ...keys,
      'rope.scaling.finetuned': Buffer.concat([Buffer.from(Uint32Array.of(7).buffer), Buffer.from([0])]),
    },
  });
  expect(() => readDecoderConfig(file)).toThrow(/use_rope: unknown key that may change/);
});

it.each([
  ['gemma2', 'gemma2', { attn_logit_softcapping: float32(2), final_logit_softcapping: float32(4) }],
  ['gemma3', 'gemma3', { 'rope.freq_base': float32(5e4) }],
])(
  '%s: a GGUF file gives the logits of Transformers, given the settings that GGUF does not store',
  async (name, architecture, keys) => {
    const file = converted(name, {
      architecture,
      names: around,
      wholeNorms: true,
      keys: { ...keys, 'attention.sliding_window': uint32(8) },
    });
    const [stored, directory] = [readDecoderConfig(file), readDecoderConfig(familyDirectory(name))];
    expect(stored.norm.offset).toBe(0);
    expect(stored.scoreScale).toBe(16 ** -0.5);
    for (const key of [
      'modules',
      'embeddingFactor',
      'scoreCap',
      'logitCap',
      'activation',
      'qkNorm',
      'tied',
    ] as const)
      expect(stored[key]).toEqual(directory[key]);
    expect(stored.layers.map(({ window }) => window)).toEqual(
      name === 'gemma2' ? [8, undefined, 8] : [8, 8, 8],
    );
    const { layers, scoreScale } = directory;
    for (const { ids, last_logits } of readFamily(name).prompts) {
      const logits = await logitsOf(file, ids, { layers, scoreScale });
      expect(Math.max(...last_logits.map((value, i) => Math.abs(value - logits[i]!)))).toBeLessThan(1e-4);
    }
    expect([...openWeights(file).keys()].sort()).toEqual(
      [...openWeights(familyDirectory(name)).keys()].sort(),
    );
  },
);
