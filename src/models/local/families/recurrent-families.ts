/** Families that don't follow Llama's layout: GPT-2, and Qwen3.5, most of whose layers are recurrent. */
import { llamaModules } from '../weights/decoder-config.js';
import { valueError } from '../weights/rope.js';
import type { HfConfig, ModelFamily } from './config-schema.js';

/** By default, three of every four layers use the gated delta rule; the fourth uses gated attention. */
export const qwen35: ModelFamily = {
  keys: [
    'full_attention_interval',
    'linear_conv_kernel_dim',
    'linear_num_key_heads',
    'linear_key_head_dim',
    'linear_num_value_heads',
    'linear_value_head_dim',
  ],
  harmlessKeys: ['mtp_num_hidden_layers', 'mtp_use_dedicated_embeddings', 'mamba_ssm_dtype'],
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
  biases: 'attention',
  partialRotation: true,
  // Text tokens have the same position on all three axes, so these keys have no effect.
  ropeKeys: ['mrope_section', 'mrope_interleaved'],
  allowsLayerTypes: true,
  recurrent: {
    type: 'linear_attention',
    includes: (config, layer) => (layer + 1) % config.full_attention_interval! !== 0,
    recurrenceOf: gatedDelta,
  },
  options: () => ({ norm: { kind: 'rms', offset: 1 }, qkNorm: true, queryGate: true }),
};

function gatedDelta(config: HfConfig, file: string) {
  const [keyHeads, valueHeads] = [config.linear_num_key_heads!, config.linear_num_value_heads!];
  if (valueHeads % keyHeads !== 0)
    throw valueError(file, 'linear_num_key_heads', keyHeads, [`a divisor of ${valueHeads}`]);
  return {
    kernel: config.linear_conv_kernel_dim!,
    keyHeads,
    keyDim: config.linear_key_head_dim!,
    valueHeads,
    valueDim: config.linear_value_head_dim!,
    decay: 'logarithm',
    order: 'grouped',
  } as const;
}

/** GPT-2: learned positions, LayerNorm, no gate, and different key and module names. */
export const gpt2: ModelFamily = {
  spellings: {
    n_embd: 'hidden_size',
    n_layer: 'num_hidden_layers',
    n_head: 'num_attention_heads',
    n_inner: 'intermediate_size',
    n_positions: 'max_position_embeddings',
    activation_function: 'hidden_act',
    layer_norm_epsilon: 'rms_norm_eps',
  },
  // By default, the feed-forward part is four times as wide as the residual stream.
  deriveKeys: ({ hidden_size }) => ({ intermediate_size: 4 * Number(hidden_size) }),
  harmlessKeys: (
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
  ropeOverrides: () => null,
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
