/** Supported families: their additional keys of `config.json`, defaults (as in Transformers 5) and decoder options. */

import { type DecoderConfig, llamaModules } from '../weights/decoder-config.js';
import { valueError } from '../weights/rope.js';
import type { DecoderOptions, HfConfig, LayerType, ModelFamily } from './config-schema.js';
import { gpt2, qwen35 } from './recurrent-families.js';

const always = () => true;
const alwaysSliding = (): LayerType => 'sliding_attention';
/** Gives every n-th layer full attention, and the others a window. */
const fullEveryNth =
  (n: number) =>
  (_: HfConfig, layer: number): LayerType =>
    (layer + 1) % n === 0 ? 'full_attention' : 'sliding_attention';

const qwen = {
  theta: 10_000,
  defaults: { num_key_value_heads: 32, sliding_window: 4096 },
  hasWindows: (config) => config.use_sliding_window === true,
  allowsLayerTypes: true,
  layerType: (config, layer) =>
    layer >= (config.max_window_layers ?? 28) ? 'sliding_attention' : 'full_attention',
} as const satisfies Partial<ModelFamily>;

const gemmaModules = {
  ...llamaModules,
  norms: {
    beforeAttention: 'input_layernorm',
    afterAttention: 'post_attention_layernorm',
    beforeFeedForward: 'pre_feedforward_layernorm',
    afterFeedForward: 'post_feedforward_layernorm',
  },
};

const gemma = {
  activation: 'gelu-tanh',
  biases: 'attention',
  hasWindows: always,
  allowsLayerTypes: true,
  options: (config: HfConfig): DecoderOptions => ({
    modules: gemmaModules,
    norm: { kind: 'rms', offset: 1 },
    embeddingFactor: Math.sqrt(config.hidden_size),
    scoreScale: (config.query_pre_attn_scalar ?? 256) ** -0.5,
    scoreCap: config.attn_logit_softcapping ?? undefined,
    logitCap: config.final_logit_softcapping ?? undefined,
  }),
} as const satisfies Partial<ModelFamily>;

const gemmaDefaults = {
  num_attention_heads: 8,
  num_key_value_heads: 4,
  head_dim: 256,
  hidden_activation: 'gelu_pytorch_tanh',
  sliding_window: 4096,
  tie_word_embeddings: true,
};

const graniteOptions = (config: HfConfig): DecoderOptions => ({
  embeddingFactor: config.embedding_multiplier ?? 1,
  residualFactor: config.residual_multiplier ?? 1,
  scoreScale: config.attention_multiplier ?? 1,
  logitFactor: 1 / (config.logits_scaling ?? 1),
});
const graniteKeys = [
  'embedding_multiplier',
  'residual_multiplier',
  'attention_multiplier',
  'logits_scaling',
] as const;

/** Old configs state a single rope scaling, which doesn't apply to layers with a window. */
const unscaledInWindows =
  (theta: (config: HfConfig, type: LayerType) => number) =>
  (config: HfConfig, _: number, type: LayerType): Partial<HfConfig> => ({
    rope_theta: theta(config, type),
    ...(type === 'sliding_attention' && { rope_scaling: null }),
  });

const mistral = {
  biases: 'none',
  defaults: { num_key_value_heads: 8, sliding_window: 4096 },
  hasWindows: always,
  layerType: alwaysSliding,
} as const satisfies ModelFamily;

export const modelFamilies: Readonly<Record<string, ModelFamily>> = {
  llama: { biases: 'all' },
  mistral,
  qwen2: { ...qwen, biases: 'queries, keys and values', neutral: { qkv_bias: true } },
  qwen3: {
    ...qwen,
    biases: 'attention',
    defaults: { ...qwen.defaults, head_dim: 128 },
    neutral: { use_qk_norm: true, qk_norm: true },
    options: () => ({ qkNorm: true }),
  },
  ministral: { ...mistral, hasWindows: (config) => config.sliding_window != null, allowsLayerTypes: true },
  ministral3: {
    ...mistral,
    defaults: { num_key_value_heads: 8, head_dim: 128, rms_norm_eps: 1e-5, max_position_embeddings: 262_144 },
    ropeKeys: ['llama_4_scaling_beta', 'max_position_embeddings'],
    options: (config, file) => ({ queryGrowth: queryGrowth(config, file) }),
  },
  smollm3: {
    keys: ['no_rope_layers', 'no_rope_layer_interval'],
    biases: 'all',
    theta: 2e6,
    defaults: { num_key_value_heads: 4, tie_word_embeddings: true, max_position_embeddings: 32_768 },
    hasWindows: (config) => config.use_sliding_window === true && config.sliding_window != null,
    allowsLayerTypes: true,
    layerType: (config, layer) => (usesRope(config, layer) ? 'full_attention' : 'sliding_attention'),
    ropeOverrides: (config, layer) => (usesRope(config, layer) ? {} : null),
  },
  gemma2: {
    ...gemma,
    keys: ['hidden_activation', 'query_pre_attn_scalar', 'attn_logit_softcapping', 'final_logit_softcapping'],
    harmlessKeys: ['cache_implementation'],
    defaults: {
      ...gemmaDefaults,
      max_position_embeddings: 8192,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
    },
    layerType: fullEveryNth(2),
  },
  gemma3_text: {
    ...gemma,
    keys: [
      'hidden_activation',
      'query_pre_attn_scalar',
      'attn_logit_softcapping',
      'final_logit_softcapping',
      'rope_local_base_freq',
      'sliding_window_pattern',
      '_sliding_window_pattern',
    ],
    harmlessKeys: ['cache_implementation'],
    defaults: { ...gemmaDefaults, vocab_size: 262_208, max_position_embeddings: 131_072 },
    layerType: (config, layer) =>
      fullEveryNth(config.sliding_window_pattern ?? config._sliding_window_pattern ?? 6)(config, layer),
    ropeOverrides: unscaledInWindows((config, type) =>
      type === 'sliding_attention' ? (config.rope_local_base_freq ?? 1e4) : (config.rope_theta ?? 1e6),
    ),
    options: (config) => ({ ...gemma.options(config), qkNorm: true }),
  },
  phi3: {
    keys: ['original_max_position_embeddings'],
    biases: 'none',
    partialRotation: true,
    ropes: ['none', 'longrope'],
    ropeAliases: { su: 'longrope', yarn: 'longrope' },
    defaults: { rms_norm_eps: 1e-5, max_position_embeddings: 4096, original_max_position_embeddings: 4096 },
    hasWindows: always,
    layerType: alwaysSliding,
    options: () => ({
      modules: { ...llamaModules, attention: ['self_attn.qkv_proj'], feedForward: ['mlp.gate_up_proj'] },
    }),
  },
  granite: { keys: graniteKeys, biases: 'all', options: graniteOptions },
  granitemoehybrid: {
    keys: [...graniteKeys, 'shared_intermediate_size', 'position_embedding_type'],
    harmlessKeys: (
      'layers_block_type num_experts_per_tok output_router_logits router_aux_loss_coef time_step_limit mamba_chunk_size mamba_conv_bias mamba_d_conv mamba_d_head ' +
      'mamba_d_state mamba_expand mamba_n_groups mamba_n_heads mamba_proj_bias normalization_function init_method'
    ).split(' '),
    // If the keys for experts and layer types are absent, the model has Mamba layers and experts.
    defaults: { num_local_experts: 8, shared_intermediate_size: 1024 },
    biases: 'attention',
    ropeOverrides: (config) => (config.position_embedding_type === 'rope' ? {} : null),
    options: (config, file) => ({
      ...graniteOptions(config),
      ...requireAttentionLayers(config, file),
      intermediate: config.shared_intermediate_size ?? config.intermediate_size,
      modules: {
        ...llamaModules,
        feedForward: ['shared_mlp.input_linear'],
        down: 'shared_mlp.output_linear',
      },
    }),
  },
  gpt2,
  qwen3_5_text: qwen35,
};

const usesRope = (config: HfConfig, layer: number): boolean =>
  config.no_rope_layers
    ? config.no_rope_layers[layer] !== 0
    : (layer + 1) % (config.no_rope_layer_interval ?? 4) !== 0;

function queryGrowth(config: HfConfig, file: string): DecoderConfig['queryGrowth'] {
  const section = config.rope_parameters ?? config.rope_scaling ?? {};
  const { llama_4_scaling_beta: beta, original_max_position_embeddings: context } = section;
  if (beta == null) return undefined;
  if (typeof beta === 'number' && typeof context === 'number' && context > 0) return { beta, context };
  throw valueError(file, 'rope_parameters.llama_4_scaling_beta', beta, [
    'a number, along with original_max_position_embeddings',
  ]);
}

/** @throws UserError unless every layer is attention plus a single feed-forward part */
function requireAttentionLayers(config: HfConfig, file: string): object {
  const experts = config.num_local_experts;
  if (experts !== 0) throw valueError(file, 'num_local_experts', experts, ['0']);
  const types: unknown = config.layer_types ?? config.layers_block_type;
  const listedTypes = Array.isArray(types) ? (types as unknown[]) : [];
  const other = listedTypes.find((type) => type !== 'attention' && type !== 'full_attention');
  if (other !== undefined || listedTypes.length !== config.num_hidden_layers)
    throw valueError(file, 'layer_types', other ?? types ?? 'mamba', [
      `a list with "attention" for each of the ${config.num_hidden_layers} layers`,
    ]);
  return {};
}
