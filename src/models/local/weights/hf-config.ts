import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../storage/files.js';
import type { Sampling } from '../../language-model.js';
import { type GgufFile, isGguf, openGguf } from './gguf.js';
import { ggufConfig, ropeDivisors } from './gguf-config.js';
import { ggufEndTokens } from './gguf-end-tokens.js';

/** One token id or a list of them, as configs have both. */
const tokenIdsSchema = z.union([z.int(), z.array(z.int())]).nullish();

/** Sampling defaults that the model's publisher recommends, and the tokens that end an answer. */
export interface GenerationDefaults extends Partial<Sampling> {
  readonly eosTokens: readonly number[];
}

const generationSchema = z.looseObject({
  eos_token_id: tokenIdsSchema,
  temperature: z.number().min(0).nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
});

/** `generation_config.json`; empty where there is none. A GGUF file names end tokens only. */
export function readGenerationDefaults(directory: string): GenerationDefaults {
  if (isGguf(directory)) return { eosTokens: ggufEndTokens(openGguf(directory)) };
  const file = path.join(directory, 'generation_config.json');
  const given = checkedValue(generationSchema, readJson(file) ?? {}, file);
  const { temperature, top_p, top_k, min_p, repetition_penalty } = given;
  return {
    eosTokens: tokenIds(given.eos_token_id),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { topP: top_p }),
    ...(top_k != null && { topK: top_k }),
    ...(min_p != null && { minP: min_p }),
    ...(repetition_penalty != null && { repetitionPenalty: repetition_penalty }),
  };
}

function tokenIds(ids: z.output<typeof tokenIdsSchema>): number[] {
  return ids == null ? [] : typeof ids === 'number' ? [ids] : ids;
}

const architectures = ['llama', 'mistral', 'qwen2', 'qwen3'] as const;
type Architecture = (typeof architectures)[number];

/** Rotary position embedding (Su et al. 2021) and the scalings that stretch its wavelengths. */
export type Rope = { readonly theta: number } & (
  | { readonly scaling: 'none' }
  /** Positions divided by `factor`. */
  | { readonly scaling: 'linear'; readonly factor: number }
  /** Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between interpolated. */
  /** Frequency i divided by `divisors[i]`, headDim / 2 of them: GGUF files hold the llama3 scaling so. */
  | { readonly scaling: 'divided'; readonly divisors: readonly number[] }
  | {
      readonly scaling: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      /** Context in tokens that the model was first trained with. */
      readonly originalContext: number;
    }
);

export interface LayerConfig {
  readonly rope: Rope;
  /** Keys at a distance of this many tokens or more are not attended to. Undefined: all are. */
  readonly window: number | undefined;
}

/** A decoder-only transformer of the Llama family. */
export interface DecoderConfig {
  readonly architecture: Architecture;
  readonly layers: readonly LayerConfig[];
  /** Width of the residual stream. */
  readonly hidden: number;
  readonly heads: number;
  /** Heads of keys and values; each serves heads / kvHeads query heads (grouped-query attention). */
  readonly kvHeads: number;
  readonly headDim: number;
  /** Width of the feed-forward part. */
  readonly intermediate: number;
  readonly vocabulary: number;
  readonly normEpsilon: number;
  readonly bias: { readonly qkv: boolean; readonly output: boolean; readonly mlp: boolean };
  /** Whether queries and keys are RMS-normalised per head (Qwen3). */
  readonly qkNorm: boolean;
  /** Whether the output layer is the embedding. */
  readonly tied: boolean;
  /** Longest context in tokens. */
  readonly contextTokens: number;
  /** Dtype that the config states, e.g. `bfloat16`; the tensors decide. */
  readonly dtype: string | undefined;
  readonly eosTokens: readonly number[];
}

const whole = z.int().positive();
const ropeSchema = z.looseObject({
  rope_theta: z.number().positive().nullish(),
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  factor: z.number().positive().nullish(),
  low_freq_factor: z.number().positive().nullish(),
  high_freq_factor: z.number().positive().nullish(),
  original_max_position_embeddings: whole.nullish(),
  partial_rotary_factor: z.number().nullish(),
});
type RopeFields = z.output<typeof ropeSchema>;

const schema = z.looseObject({
  model_type: z.string(),
  hidden_size: whole,
  num_hidden_layers: whole,
  num_attention_heads: whole,
  num_key_value_heads: whole.nullish(),
  head_dim: whole.nullish(),
  intermediate_size: whole,
  vocab_size: whole,
  rms_norm_eps: z.number().positive().default(1e-6),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  max_position_embeddings: whole.default(2048),
  rope_theta: z.number().positive().nullish(),
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: z.record(z.string(), z.unknown()).nullish(),
  partial_rotary_factor: z.number().nullish(),
  sliding_window: whole.nullish(),
  use_sliding_window: z.boolean().nullish(),
  max_window_layers: z.int().min(0).nullish(),
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.looseObject({ quant_method: z.string().nullish() }).nullish(),
  dtype: z.string().nullish(),
  torch_dtype: z.string().nullish(),
  eos_token_id: tokenIdsSchema,
});
type HfConfig = z.output<typeof schema>;

/**
 * @param directory of a Hugging Face model, or a GGUF file
 * @throws UserError naming the field of config.json that is missing or that the decoder does not support
 */
export function readDecoderConfig(directory: string): DecoderConfig {
  if (isGguf(directory)) return readGgufConfig(openGguf(directory));
  const file = path.join(directory, 'config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      field: 'model.path',
      value: directory,
      message: existsSync(directory) ? 'this directory has no config.json' : 'there is no such directory',
      remedy: 'name the directory of a Hugging Face model: config.json, tokenizer.json, model.safetensors',
    });
  return parseDecoderConfig(raw, file);
}

function readGgufConfig(gguf: GgufFile): DecoderConfig {
  const config = parseDecoderConfig(ggufConfig(gguf), gguf.file);
  const divisors = ropeDivisors(gguf);
  if (divisors === undefined) return config;
  if (divisors.length !== config.headDim / 2 || !divisors.every((divisor) => divisor > 0))
    throw unsupported(gguf.file, 'rope_freqs.weight', divisors.slice(0, 4), [
      `${config.headDim / 2} positive numbers`,
    ]);
  const divided = (rope: Rope): Rope => ({ theta: rope.theta, scaling: 'divided', divisors });
  return { ...config, layers: config.layers.map((layer) => ({ ...layer, rope: divided(layer.rope) })) };
}

/**
 * Reads `config.json` into what the decoder graph needs. Takes old and new spellings: `torch_dtype` and `dtype`;
 * `rope_theta` with `rope_scaling`, and `rope_parameters` (flat or one per layer type). Refuses by name what the decoder
 * cannot compute.
 * @param file named in errors
 */
export function parseDecoderConfig(raw: unknown, file: string): DecoderConfig {
  const architecture = readArchitecture(raw, file);
  const config = checkedValue(schema, raw, file);
  refuseUnsupported(config, file);
  const heads = config.num_attention_heads;
  const kvHeads = config.num_key_value_heads ?? (architecture === 'mistral' ? 8 : heads);
  if (heads % kvHeads !== 0)
    throw unsupported(file, 'num_key_value_heads', kvHeads, [`a divisor of ${heads}`]);
  const allBiased = config.attention_bias ?? false;
  // The default of Qwen3 holds where the key is absent, not where it is null.
  const needsQwen3Default = architecture === 'qwen3' && !('head_dim' in config);
  return {
    architecture,
    layers: readLayers(config, architecture, file),
    hidden: config.hidden_size,
    heads,
    kvHeads,
    headDim: config.head_dim ?? (needsQwen3Default ? 128 : config.hidden_size / heads),
    intermediate: config.intermediate_size,
    vocabulary: config.vocab_size,
    normEpsilon: config.rms_norm_eps,
    bias: {
      qkv: architecture === 'qwen2' || allBiased,
      output: architecture !== 'qwen2' && allBiased,
      mlp: config.mlp_bias ?? false,
    },
    qkNorm: architecture === 'qwen3',
    tied: config.tie_word_embeddings ?? false,
    contextTokens: config.max_position_embeddings,
    dtype: config.dtype ?? config.torch_dtype ?? undefined,
    eosTokens: tokenIds(config.eos_token_id),
  };
}

function readArchitecture(raw: unknown, file: string): Architecture {
  const parsed = z
    .looseObject({ model_type: z.string().nullish(), architectures: z.array(z.string()).nullish() })
    .safeParse(raw);
  if (!parsed.success)
    throw new UserError({
      file,
      message: 'this is not the config of a model: it holds no object with a model_type',
      remedy: 'download the model directory again',
    });
  const { model_type: type, architectures: classes } = parsed.data;
  const found = architectures.find((name) => name === type);
  const decoder = classes?.every((name) => name.endsWith('ForCausalLM')) ?? true;
  if (found !== undefined && decoder) return found;
  throw new UserError({
    file,
    field: found === undefined ? 'model_type' : 'architectures',
    value: found === undefined ? (type ?? null) : classes,
    message: found === undefined ? 'this architecture is not supported' : 'this is no causal language model',
    alternatives: found === undefined ? architectures : [`${found} with a class …ForCausalLM`],
    remedy: 'serve this model with another program and use the provider `openai` or `ollama`',
  });
}

function refuseUnsupported(config: HfConfig, file: string): void {
  if (config.hidden_act !== 'silu' && config.hidden_act !== 'swish')
    throw unsupported(file, 'hidden_act', config.hidden_act, ['silu']);
  if (config.quantization_config)
    throw unsupported(file, 'quantization_config', config.quantization_config.quant_method ?? 'some method', [
      'weights in float32, float16 or bfloat16 (`quantization` in the experiment quantises them)',
    ]);
  const rotary = config.partial_rotary_factor ?? 1;
  if (rotary !== 1) throw unsupported(file, 'partial_rotary_factor', rotary, ['1']);
}

function readLayers(config: HfConfig, architecture: Architecture, file: string): LayerConfig[] {
  const windowed =
    architecture === 'mistral' || (architecture.startsWith('qwen') && config.use_sliding_window === true);
  // The architecture's own default of 4,096 holds where the key is absent, not where it is null.
  const { sliding_window = 4096 } = config;
  const window = windowed ? (sliding_window ?? undefined) : undefined;
  const firstWindowed = architecture === 'mistral' ? 0 : (config.max_window_layers ?? 28);
  if (config.layer_types && config.layer_types.length !== config.num_hidden_layers)
    throw unsupported(file, 'layer_types', config.layer_types, [`a list of ${config.num_hidden_layers}`]);
  return Array.from({ length: config.num_hidden_layers }, (_, layer) => {
    const byDefault = window !== undefined && layer >= firstWindowed ? 'sliding' : 'full';
    const type = config.layer_types?.[layer] ?? `${byDefault}_attention`;
    if (type !== 'full_attention' && type !== 'sliding_attention')
      throw unsupported(file, `layer_types.${layer}`, type, ['full_attention', 'sliding_attention']);
    return {
      rope: readRope(config, type, file),
      window: type === 'sliding_attention' ? window : undefined,
    };
  });
}

function readRope(config: HfConfig, layerType: string, file: string): Rope {
  const { fields, field } = ropeFields(config, layerType, file);
  const theta = fields.rope_theta ?? config.rope_theta ?? 10_000;
  const kind = fields.rope_type ?? fields.type ?? 'default';
  const need = (name: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = fields[name];
    if (value == null)
      throw new UserError({
        file,
        field: `${field}.${name}`,
        message: `is missing, and rope_type ${kind} needs it`,
      });
    return value;
  };
  if (fields.partial_rotary_factor != null && fields.partial_rotary_factor !== 1)
    throw unsupported(file, `${field}.partial_rotary_factor`, fields.partial_rotary_factor, ['1']);
  switch (kind) {
    case 'default':
      return { theta, scaling: 'none' };
    case 'linear':
      return { theta, scaling: 'linear', factor: need('factor') };
    case 'llama3':
      return {
        theta,
        scaling: 'llama3',
        factor: need('factor'),
        lowFrequencyFactor: need('low_freq_factor'),
        highFrequencyFactor: need('high_freq_factor'),
        originalContext: fields.original_max_position_embeddings ?? config.max_position_embeddings,
      };
    default:
      throw unsupported(file, `${field}.rope_type`, kind, ['default', 'linear', 'llama3']);
  }
}

/** The rotary fields of a layer: of `rope_parameters` (flat, or keyed by layer type), else of `rope_scaling`. */
function ropeFields(
  config: HfConfig,
  layerType: string,
  file: string,
): { fields: RopeFields; field: string } {
  const parameters = config.rope_parameters;
  if (parameters == null) return { fields: config.rope_scaling ?? {}, field: 'rope_scaling' };
  const perLayer = parameters[layerType];
  const section = perLayer == null ? ['rope_parameters'] : ['rope_parameters', layerType];
  const fields = checkedValue(ropeSchema, perLayer ?? parameters, file, { section });
  return { fields, field: section.join('.') };
}

const unsupported = (file: string, field: string, value: unknown, alternatives: readonly string[]) =>
  new UserError({ file, field, value, message: 'is not supported', alternatives });
