/** The keys of `config.json` that are read, and the options in which families differ. */
import { z } from 'zod';
import type { DecoderConfig, Recurrence } from '../weights/decoder-config.js';
import { maxTokenId, tokenIdsSchema } from '../weights/generation-config.js';
import { type Rope, ropeShape } from '../weights/rope.js';

const positiveInteger = z.int().positive();
/** Upper bounds, at least ten times the values of the largest published decoders. */
const maxSizes = { layers: 2048, width: 2 ** 20, kernel: 64 } as const;
export const maxContextTokens = 2 ** 30;

export const commonShape = {
  model_type: z.string(),
  hidden_size: positiveInteger.max(maxSizes.width),
  num_hidden_layers: positiveInteger.max(maxSizes.layers),
  num_attention_heads: positiveInteger.max(maxSizes.width),
  num_key_value_heads: positiveInteger.max(maxSizes.width).nullish(),
  head_dim: positiveInteger.max(maxSizes.width).nullish(),
  intermediate_size: positiveInteger.max(maxSizes.width),
  vocab_size: positiveInteger.max(maxTokenId + 1),
  rms_norm_eps: z.number().positive().default(1e-6),
  hidden_act: z.string().default('silu'),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  max_position_embeddings: positiveInteger.max(maxContextTokens).default(2048),
  ...ropeShape,
  sliding_window: positiveInteger.nullish(),
  use_sliding_window: z.boolean().nullish(),
  max_window_layers: z.int().min(0).nullish(),
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.looseObject({ quant_method: z.string().nullish() }).nullish(),
  dtype: z.string().nullish(),
  torch_dtype: z.string().nullish(),
  eos_token_id: tokenIdsSchema,
};

const optionalPositive = z.number().positive().nullish();

/** Keys that only some families read. */
const familyShape = {
  hidden_activation: z.string().nullish(),
  query_pre_attn_scalar: optionalPositive,
  attn_logit_softcapping: optionalPositive,
  final_logit_softcapping: optionalPositive,
  rope_local_base_freq: optionalPositive,
  sliding_window_pattern: positiveInteger.nullish(),
  _sliding_window_pattern: positiveInteger.nullish(),
  no_rope_layers: z.array(z.int()).nullish(),
  no_rope_layer_interval: positiveInteger.nullish(),
  original_max_position_embeddings: positiveInteger.nullish(),
  embedding_multiplier: optionalPositive,
  residual_multiplier: optionalPositive,
  attention_multiplier: optionalPositive,
  logits_scaling: optionalPositive,
  shared_intermediate_size: positiveInteger.max(maxSizes.width).nullish(),
  position_embedding_type: z.string().nullish(),
  full_attention_interval: positiveInteger.nullish(),
  linear_conv_kernel_dim: positiveInteger.max(maxSizes.kernel).nullish(),
  linear_num_key_heads: positiveInteger.max(maxSizes.width).nullish(),
  linear_key_head_dim: positiveInteger.max(maxSizes.width).nullish(),
  linear_num_value_heads: positiveInteger.max(maxSizes.width).nullish(),
  linear_value_head_dim: positiveInteger.max(maxSizes.width).nullish(),
};
type FamilyKey = keyof typeof familyShape;

export const configSchema = z.looseObject({ ...commonShape, ...familyShape });
export type HfConfig = z.output<typeof configSchema>;

export type LayerType = 'full_attention' | 'sliding_attention';

/** Layers with a recurrent state instead of attention. */
interface RecurrentLayers {
  /** Name of these layers in the key `layer_types`. */
  readonly type: string;
  /** Returns true if a layer is of this type; used if `layer_types` is absent. */
  readonly includes: (config: HfConfig, layer: number) => boolean;
  readonly recurrenceOf: (config: HfConfig, file: string) => Recurrence;
}

/** Properties of a decoder that differ from Llama's. */
export type DecoderOptions = Partial<DecoderConfig>;

export interface ModelFamily {
  /** Maps the family's own spellings of keys to Llama's. */
  readonly spellings?: Readonly<Record<string, string>>;
  /** Keys, in Llama's spelling, that are derived from other keys if absent or null. */
  readonly deriveKeys?: (config: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  readonly keys?: readonly FamilyKey[];
  readonly harmlessKeys?: readonly string[];
  /** Values at which a key has no effect in this family. */
  readonly neutral?: Readonly<Record<string, unknown>>;
  /** Defaults for absent keys; they don't apply to null. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Default: SiLU. */
  readonly activation?: 'gelu-tanh';
  /** Biases that models of the family can have. */
  readonly biases: 'all' | 'attention' | 'queries, keys and values' | 'none';
  readonly theta?: number;
  readonly ropes?: readonly Exclude<Rope['scaling'], 'divided'>[];
  readonly ropeAliases?: Readonly<Record<string, 'longrope'>>;
  /** More keys that the rope section may contain. */
  readonly ropeKeys?: readonly string[];
  readonly partialRotation?: boolean;
  /** Default type of a layer if windows are in use; absent if the family has no windows. */
  readonly layerType?: (config: HfConfig, layer: number) => LayerType;
  /** True if `layer_types` may override `layerType`. */
  readonly allowsLayerTypes?: boolean;
  readonly hasWindows?: (config: HfConfig) => boolean;
  /** Returns rope keys of a layer that override the config's; null if the layer has no rotation. */
  readonly ropeOverrides?: (config: HfConfig, layer: number, type: LayerType) => Partial<HfConfig> | null;
  readonly recurrent?: RecurrentLayers;
  readonly options?: (config: HfConfig, file: string) => DecoderOptions;
}
