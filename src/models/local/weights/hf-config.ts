import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../storage/files.js';
import { harmlessModelKeys, type KnownKeys, refuseUnknownKeys, withoutKeys } from './config-keys.js';
import { tokenIds, tokenIdsSchema } from './generation-config.js';
import { type Rope, readRope, ropeShape, unsupported } from './rope.js';
import { openWeights, sameTensor } from './safetensors.js';

const architectures = ['llama', 'mistral', 'qwen2', 'qwen3'] as const;
type Architecture = (typeof architectures)[number];

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

const defaultKvHeads: Readonly<Partial<Record<Architecture, number>>> = { mistral: 8, qwen2: 32, qwen3: 32 };

const whole = z.int().positive();

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
  ...ropeShape,
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
 * @param directory of a Hugging Face model
 * @param ignoredKeys of config.json, which are read as if they were not there
 * @throws UserError naming the field of config.json that is missing or that the decoder does not support
 */
export function readDecoderConfig(directory: string, ignoredKeys: readonly string[] = []): DecoderConfig {
  const file = path.join(directory, 'config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      field: 'model.path',
      value: directory,
      message: existsSync(directory) ? 'this directory has no config.json' : 'there is no such directory',
      remedy: 'name the directory of a Hugging Face model: config.json, tokenizer.json, model.safetensors',
    });
  const config = parseDecoderConfig(withoutKeys(raw, ignoredKeys), file);
  return config.tied && storesOwnHead(directory) ? { ...config, tied: false } : config;
}

/** Whether the weights hold an output layer other than the embedding: as in Transformers 5, it then counts. */
function storesOwnHead(directory: string): boolean {
  try {
    const weights = openWeights(directory);
    const [head, embedding] = [weights.get('lm_head.weight'), weights.get('model.embed_tokens.weight')];
    return head !== undefined && embedding !== undefined && !sameTensor(head, embedding);
  } catch (error) {
    // Whoever opens the weights says what is wrong with them.
    if (error instanceof UserError) return false;
    throw error;
  }
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
  refuseUnknownKeys(config, knownKeys(architecture), file);
  refuseUnsupported(config, architecture, file);
  const heads = config.num_attention_heads;
  // The architecture's own default holds where the key is absent, not where it is null.
  const absent = 'num_key_value_heads' in config ? undefined : defaultKvHeads[architecture];
  const kvHeads = config.num_key_value_heads ?? absent ?? heads;
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

const knownKeys = (architecture: Architecture): KnownKeys => ({
  read: [...Object.keys(schema.shape), 'architectures'],
  harmless: harmlessModelKeys,
  neutral: {
    is_causal: true,
    causal: true,
    use_rope: true,
    use_rotary_embeddings: true,
    scale_attn_weights: true,
    use_qk_norm: architecture === 'qwen3',
    qk_norm: architecture === 'qwen3',
    qkv_bias: architecture === 'qwen2',
    embedding_multiplier: 1,
    residual_multiplier: 1,
    logits_scaling: 1,
    logit_scale: 1,
    rotary_pct: 1,
    num_experts: 0,
    num_local_experts: 0,
    num_experts_per_tok: 0,
  },
});

function refuseUnsupported(config: HfConfig, architecture: Architecture, file: string): void {
  if (config.hidden_act !== 'silu' && config.hidden_act !== 'swish')
    throw unsupported(file, 'hidden_act', config.hidden_act, ['silu']);
  if (config.quantization_config && Object.keys(config.quantization_config).length > 0)
    throw unsupported(file, 'quantization_config', config.quantization_config.quant_method ?? 'some method', [
      'weights in float32, float16 or bfloat16 (`quantization` in the experiment quantises them)',
    ]);
  const rotary = config.partial_rotary_factor ?? 1;
  if (rotary !== 1) throw unsupported(file, 'partial_rotary_factor', rotary, ['1']);
  // Only these have such biases; Transformers leaves the key of others out, whatever the weights hold.
  if (config.mlp_bias === true && architecture !== 'llama')
    throw unsupported(file, 'mlp_bias', true, [`false, as ${architecture} has it`]);
  if (config.attention_bias === true && architecture === 'mistral')
    throw unsupported(file, 'attention_bias', true, [`false, as ${architecture} has it`]);
  const { sliding_window: window, max_position_embeddings: context } = config;
  if (architecture === 'llama' && config.use_sliding_window !== false && window != null && window < context)
    throw unsupported(file, 'sliding_window', window, ['null, as llama has it', `at least ${context}`]);
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
    const byDefault = window !== undefined && layer >= firstWindowed ? 'sliding_attention' : 'full_attention';
    // Llama and Mistral don't read the key, and no layer has a window where there is none.
    const possible = !architecture.startsWith('qwen')
      ? [byDefault]
      : ['full_attention', ...(window === undefined ? [] : ['sliding_attention'])];
    const type = config.layer_types?.[layer] ?? byDefault;
    if (!possible.includes(type)) throw unsupported(file, `layer_types.${layer}`, type, possible);
    return {
      rope: readRope(config, type, file),
      window: type === 'sliding_attention' ? window : undefined,
    };
  });
}
