/** llama.cpp's architectures: module names, and keys of `config.json` (gguf-py's constants.py, tensor_mapping.py). */
import type { GgufFile } from './gguf.js';
import { toFloat32 } from './quantization.js';
import { readTensorBytes } from './safetensors.js';

export interface GgufFamily {
  readonly interleaved: boolean;
  /** True if stored norms include the 1 that Hugging Face's files omit. */
  readonly wholeNorms?: boolean;
  /** Modules of a layer whose names differ from Llama's; '' for modules that the family lacks. */
  readonly modules?: Readonly<Record<string, string>>;
  /** Tensors of a layer that are neither a weight nor a bias of a module. */
  readonly tensors?: Readonly<Record<string, string>>;
  /** Modules outside the layers whose names differ from Llama's. */
  readonly others?: Readonly<Record<string, string>>;
  /** Hugging Face's path of the layers, if it differs from Llama's. */
  readonly layers?: string;
  /** Metadata keys that are allowed in addition to the common ones. */
  readonly keys?: readonly string[];
  /** Alternative names of keys (most are Ollama's), with the usual names in llama.cpp. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Values of keys that some files omit. */
  readonly defaults?: Readonly<Record<string, number>>;
  /** True if a model of the family may rotate only part of each head. */
  readonly partialRotation?: boolean;
  /** @param value a function that reads a key, given without the architecture's prefix */
  readonly config?: (value: ValueReader, gguf: GgufFile) => Readonly<Record<string, unknown>>;
}

const capKeys = ['attn_logit_softcapping', 'final_logit_softcapping', 'attention.sliding_window'] as const;

const gemma = {
  interleaved: false,
  wholeNorms: true,
  modules: {
    post_attention_norm: 'post_attention_layernorm',
    ffn_norm: 'pre_feedforward_layernorm',
    post_ffw_norm: 'post_feedforward_layernorm',
  },
} as const;

type ValueReader = (key: string) => unknown;

const headWidth = (value: ValueReader): number =>
  Number(
    value('attention.key_length') ??
      Number(value('embedding_length')) / Number(value('attention.head_count')),
  );

/** Returns `query_pre_attn_scalar`, which files don't store: a head's width, or hidden / heads in the largest model. */
const gemmaScale = (value: ValueReader, layersOfLargest: number): number =>
  value('block_count') === layersOfLargest
    ? Number(value('embedding_length')) / Number(value('attention.head_count'))
    : headWidth(value);

export const storedNumbers = ({ tensors }: GgufFile, name: string): readonly number[] | undefined => {
  const stored = tensors.get(name);
  return stored && [...toFloat32(readTensorBytes(stored), stored.dtype)];
};

/** @param pattern n if every n-th layer is global, or a list that is true for each local layer */
const gemmaPattern = (pattern: unknown) =>
  Array.isArray(pattern)
    ? { layer_types: pattern.map((isLocal) => (isLocal ? 'sliding_attention' : 'full_attention')) }
    : { sliding_window_pattern: pattern };

/** The value heads usually aren't in Hugging Face's order; `readGgufConfig` passes their order to the decoder. */
const qwen35: GgufFamily = {
  interleaved: false,
  wholeNorms: true,
  partialRotation: true,
  modules: {
    post_attention_norm: 'post_attention_layernorm',
    ffn_norm: '',
    attn_qkv: 'linear_attn.in_proj_qkv',
    attn_gate: 'linear_attn.in_proj_z',
    ssm_alpha: 'linear_attn.in_proj_a',
    ssm_beta: 'linear_attn.in_proj_b',
    ssm_conv1d: 'linear_attn.conv1d',
    ssm_norm: 'linear_attn.norm',
    ssm_out: 'linear_attn.out_proj',
  },
  tensors: { ssm_a: 'linear_attn.A_log', 'ssm_dt.bias': 'linear_attn.dt_bias' },
  keys: (
    'full_attention_interval nextn_predict_layers rope.dimension_sections rope.mrope_interleaved ' +
    'ssm.conv_kernel ssm.group_count ssm.inner_size ssm.state_size ssm.time_step_rank ssm.v_head_reordered'
  ).split(' '),
  config: (value) => ({
    model_type: 'qwen3_5_text',
    // The layers for multi-token prediction come last and aren't run.
    num_hidden_layers: Number(value('block_count')) - Number(value('nextn_predict_layers') ?? 0),
    full_attention_interval: value('full_attention_interval') ?? 4,
    linear_conv_kernel_dim: value('ssm.conv_kernel'),
    linear_num_key_heads: value('ssm.group_count'),
    linear_key_head_dim: value('ssm.state_size'),
    linear_num_value_heads: value('ssm.time_step_rank'),
    linear_value_head_dim: Number(value('ssm.inner_size')) / Number(value('ssm.time_step_rank')),
  }),
};

export const ggufFamilies: Readonly<Record<string, GgufFamily>> = {
  llama: { interleaved: true },
  qwen2: { interleaved: false },
  qwen3: { interleaved: false },
  smollm3: { interleaved: true },
  granite: {
    interleaved: true,
    keys: ['embedding_scale', 'residual_scale', 'attention.scale', 'logit_scale'],
    // A factor of 0 means that the usual one applies. Models without rotation (`use_rope: false`) are rejected later.
    config: (value) => ({
      embedding_multiplier: value('embedding_scale') || 1,
      residual_multiplier: value('residual_scale') || 1,
      attention_multiplier: value('attention.scale') || headWidth(value) ** -0.5,
      logits_scaling: value('logit_scale') || 1,
      ...(value('rope.scaling.finetuned') === false && { use_rope: false }),
    }),
  },
  gemma2: {
    ...gemma,
    keys: capKeys,
    config: (value) => ({
      query_pre_attn_scalar: gemmaScale(value, 46),
      attn_logit_softcapping: value('attn_logit_softcapping') ?? 50,
      final_logit_softcapping: value('final_logit_softcapping') ?? 30,
      sliding_window: value('attention.sliding_window') ?? 4096,
    }),
  },
  gemma3: {
    ...gemma,
    keys: [...capKeys, 'attention.sliding_window_pattern', 'rope.freq_base_swa'],
    aliases: { 'rope.global.freq_base': 'rope.freq_base', 'rope.local.freq_base': 'rope.freq_base_swa' },
    defaults: { 'attention.layer_norm_rms_epsilon': 1e-6 },
    config: (value) => ({
      model_type: 'gemma3_text',
      query_pre_attn_scalar: gemmaScale(value, 62),
      attn_logit_softcapping: value('attn_logit_softcapping') ?? null,
      final_logit_softcapping: value('final_logit_softcapping') ?? null,
      sliding_window: value('attention.sliding_window') ?? 1024,
      ...gemmaPattern(value('attention.sliding_window_pattern') ?? 6),
      // Files that Ollama writes omit the scaling of models with a long context.
      ...(value('rope.global.freq_base') !== undefined &&
        value('rope.scaling.type') === undefined &&
        Number(value('context_length')) >= 131_072 && { rope_scaling: { rope_type: 'linear', factor: 8 } }),
      rope_theta: value('rope.freq_base') ?? 1e6,
      rope_local_base_freq: value('rope.freq_base_swa') ?? 1e4,
    }),
  },
  phi3: {
    interleaved: false,
    partialRotation: true,
    modules: { attn_qkv: 'self_attn.qkv_proj', ffn_up: 'mlp.gate_up_proj', ffn_gate: '' },
    keys: ['attention.sliding_window', 'rope.scaling.attn_factor'],
    config: (value, gguf) => {
      const [shortFactors, longFactors] = ['short', 'long'].map((kind) =>
        storedNumbers(gguf, `rope_factors_${kind}.weight`),
      );
      const window = value('attention.sliding_window');
      const attentionFactor = value('rope.scaling.attn_factor');
      return {
        sliding_window: window === 0 ? null : (window ?? null),
        original_max_position_embeddings:
          value('rope.scaling.original_context_length') ?? value('context_length'),
        rope_scaling: shortFactors &&
          longFactors && {
            rope_type: 'longrope',
            short_factor: shortFactors,
            long_factor: longFactors,
            ...(attentionFactor !== undefined && { attention_factor: attentionFactor }),
          },
      };
    },
  },
  mistral3: {
    interleaved: true,
    keys: ['attention.temperature_scale', 'rope.scaling.mscale'],
    aliases: {
      'rope.scaling.beta_fast': 'rope.scaling.yarn_beta_fast',
      'rope.scaling.beta_slow': 'rope.scaling.yarn_beta_slow',
      'rope.scaling.mscale_all_dim': 'rope.scaling.yarn_log_multiplier',
      'rope.scaling_beta': 'attention.temperature_scale',
    },
    config: () => ({ model_type: 'ministral3' }),
  },
  gpt2: {
    interleaved: false,
    layers: 'transformer.h',
    modules: {
      attn_norm: 'ln_1',
      attn_qkv: 'attn.c_attn',
      attn_output: 'attn.c_proj',
      ffn_norm: 'ln_2',
      ffn_up: 'mlp.c_fc',
      ffn_down: 'mlp.c_proj',
    },
    others: {
      token_embd: 'transformer.wte',
      position_embd: 'transformer.wpe',
      output_norm: 'transformer.ln_f',
    },
    aliases: { 'attention.layer_norm_epsilon': 'attention.layer_norm_rms_epsilon' },
  },
  qwen35,
};
