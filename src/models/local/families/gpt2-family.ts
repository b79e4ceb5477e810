import { llamaModules } from '../weights/decoder-config.js';
import type { Family } from './config-schema.js';

/** GPT-2: learned positions, LayerNorm, no gate, and its own names for keys and modules. */
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
  harmless: [
    'n_ctx',
    'reorder_and_upcast_attn',
    'summary_activation',
    'summary_first_dropout',
    'summary_proj_to_labels',
    'summary_type',
    'summary_use_proj',
    'task_specific_params',
  ],
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
