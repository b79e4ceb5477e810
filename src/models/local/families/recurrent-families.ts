/** Families that don't follow Llama's layout: GPT-2, and those that mix attention with recurrent layers. */
import { type DecoderConfig, llamaModules } from '../weights/decoder-config.js';
import { unsupported } from '../weights/rope.js';
import type { Family, HfConfig } from './config-schema.js';

/** By default, three of every four layers use the gated delta rule; the fourth uses gated attention. */
export const qwen35: Family = {
  keys: [
    'full_attention_interval',
    'linear_conv_kernel_dim',
    'linear_num_key_heads',
    'linear_key_head_dim',
    'linear_num_value_heads',
    'linear_value_head_dim',
  ],
  harmless: ['mtp_num_hidden_layers', 'mtp_use_dedicated_embeddings', 'mamba_ssm_dtype'],
  neutral: { attn_output_gate: true },
  defaults: {
    head_dim: 256,
    num_key_value_heads: 4,
    partial_rotary_factor: 0.25,
    max_position_embeddings: 32_768,
    full_attention_interval: 4,
    linear_conv_kernel_dim: 4,
    linear_num_key_heads: 16,
    linear_key_head_dim: 128,
    linear_num_value_heads: 32,
    linear_value_head_dim: 128,
  },
  activation: 'silu',
  biases: 'attention',
  partialRotation: true,
  // Text tokens have the same position on all three axes, so these keys have no effect.
  ropeKeys: ['mrope_section', 'mrope_interleaved'],
  typed: true,
  recurrent: {
    type: 'linear_attention',
    at: (config, layer) => (layer + 1) % config.full_attention_interval! !== 0,
    of: gatedDelta,
  },
  options: () => ({ norm: { kind: 'rms', offset: 1 }, qkNorm: true, queryGate: true }),
};

function gatedDelta(config: HfConfig, file: string) {
  const [keyHeads, valueHeads] = [config.linear_num_key_heads!, config.linear_num_value_heads!];
  if (valueHeads % keyHeads !== 0)
    throw unsupported(file, 'linear_num_key_heads', keyHeads, [`a divisor of ${valueHeads}`]);
  return {
    kind: 'gated delta',
    kernel: config.linear_conv_kernel_dim!,
    keyHeads,
    keyDim: config.linear_key_head_dim!,
    valueHeads,
    valueDim: config.linear_value_head_dim!,
    decay: 'logarithm',
    order: 'grouped',
  } as const;
}

/** Gated convolutions over a few tokens, with attention layers in between. */
export const lfm2: Family = {
  spelling: {
    norm_eps: 'rms_norm_eps',
    tie_embedding: 'tie_word_embeddings',
    block_ff_dim: 'intermediate_size',
  },
  keys: [
    'full_attn_idxs',
    'conv_L_cache',
    'conv_bias',
    'block_auto_adjust_ff_dim',
    'block_ffn_dim_multiplier',
    'block_multiple_of',
  ],
  harmless: (
    'block_dim block_mlp_init_scale block_norm_eps block_out_init_scale block_use_xavier_init ' +
    'conv_dim conv_dim_out conv_use_xavier_init num_heads theta'
  ).split(' '),
  neutral: { block_use_swiglu: true, use_pos_enc: true },
  defaults: {
    intermediate_size: 12_288,
    num_key_value_heads: 8,
    max_position_embeddings: 128_000,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
    conv_L_cache: 3,
    conv_bias: false,
    block_auto_adjust_ff_dim: true,
    block_ffn_dim_multiplier: 1,
    block_multiple_of: 256,
  },
  activation: 'silu',
  biases: 'none',
  theta: 1e6,
  typed: true,
  recurrent: {
    type: 'conv',
    at: (config, layer) => config.full_attn_idxs?.includes(layer) === false,
    of: (config) => ({
      kind: 'short convolution',
      kernel: config.conv_L_cache!,
      bias: config.conv_bias ?? false,
    }),
  },
  options: (config) => ({ qkNorm: true, intermediate: adjustedWidth(config), modules: lfm2Modules }),
};

const lfm2Modules: DecoderConfig['modules'] = {
  ...llamaModules,
  finalNorm: 'model.embedding_norm',
  queryNorm: 'self_attn.q_layernorm',
  keyNorm: 'self_attn.k_layernorm',
  attentionOutput: 'self_attn.out_proj',
  feedForward: ['feed_forward.w1', 'feed_forward.w3'],
  down: 'feed_forward.w2',
  norms: { beforeAttention: 'operator_norm', beforeFeedForward: 'ffn_norm' },
};

/** The stated width of the feed-forward part or, by default, two thirds of it, scaled and rounded up to a multiple. */
function adjustedWidth(config: HfConfig): number {
  if (config.block_auto_adjust_ff_dim === false) return config.intermediate_size;
  const [factor, multiple] = [config.block_ffn_dim_multiplier ?? 1, config.block_multiple_of ?? 256];
  const width = Math.floor(factor * Math.floor((2 * config.intermediate_size) / 3));
  return multiple * Math.ceil(width / multiple);
}

/** GPT-2: learned positions, LayerNorm, no gate, and different key and module names. */
export const gpt2: Family = {
  spelling: {
    n_embd: 'hidden_size',
    n_layer: 'num_hidden_layers',
    n_head: 'num_attention_heads',
    n_inner: 'intermediate_size',
    n_positions: 'max_position_embeddings',
    activation_function: 'hidden_act',
    layer_norm_epsilon: 'rms_norm_eps',
  },
  // By default, the feed-forward part is four times as wide as the residual stream.
  derived: ({ hidden_size }) => ({ intermediate_size: 4 * Number(hidden_size) }),
  keys: [],
  harmless: (
    'n_ctx reorder_and_upcast_attn summary_activation summary_first_dropout ' +
    'summary_proj_to_labels summary_type summary_use_proj task_specific_params'
  ).split(' '),
  defaults: {
    hidden_act: 'gelu_new',
    max_position_embeddings: 1024,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
  },
  activation: 'gelu-tanh',
  biases: 'all',
  ropeOf: () => null,
  options: () => ({
    norm: { kind: 'layer', offset: 0 },
    gated: false,
    bias: { qkv: true, output: true, mlp: true },
    modules: {
      ...llamaModules,
      embedding: 'transformer.wte',
      positions: 'transformer.wpe',
      layers: 'transformer.h',
      finalNorm: 'transformer.ln_f',
      attention: ['attn.c_attn'],
      attentionOutput: 'attn.c_proj',
      feedForward: ['mlp.c_fc'],
      down: 'mlp.c_proj',
      norms: { beforeAttention: 'ln_1', beforeFeedForward: 'ln_2' },
    },
  }),
};
