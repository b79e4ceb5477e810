/**
 * What llama.cpp's architectures are in the words of Hugging Face: names of modules, and keys of `config.json` beyond
 * those of all (gguf-py/gguf/constants.py and tensor_mapping.py of llama.cpp).
 */
import type { GgufFile } from './gguf.js';
import { toFloat32 } from './quantization.js';
import { readTensorBytes } from './safetensors.js';

export interface GgufFamily {
  /** Whether rows of queries and keys are interleaved. */
  readonly interleaved: boolean;
  /** Whether norms have the 1 added that Hugging Face's files leave out. */
  readonly wholeNorms?: boolean;
  /** Modules of a layer that have other names than Llama's; '' for those that it lacks. */
  readonly modules?: Readonly<Record<string, string>>;
  /** Keys of the metadata that `config` reads. */
  readonly keys?: readonly string[];
  /** @param value of a key below the architecture's name */
  readonly config?: (value: Value, gguf: GgufFile) => Readonly<Record<string, unknown>>;
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

type Value = (key: string) => unknown;

const headWidth = (value: Value): number =>
  Number(
    value('attention.key_length') ??
      Number(value('embedding_length')) / Number(value('attention.head_count')),
  );

/** The score scale is not stored: that of the largest model is by the width of the model, of the others by that of a head. */
const gemmaScale = (value: Value, layersOfLargest: number): number =>
  value('block_count') === layersOfLargest
    ? Number(value('embedding_length')) / Number(value('attention.head_count'))
    : headWidth(value);

const factors = ({ tensors }: GgufFile, name: string): readonly number[] | undefined => {
  const stored = tensors.get(name);
  return stored && [...toFloat32(readTensorBytes(stored), stored.dtype)];
};

export const ggufFamilies: Readonly<Record<string, GgufFamily>> = {
  llama: { interleaved: true },
  qwen2: { interleaved: false },
  qwen3: { interleaved: false },
  smollm3: { interleaved: true },
  granite: {
    interleaved: true,
    keys: ['embedding_scale', 'residual_scale', 'attention.scale', 'logit_scale'],
    // Zero is none here, and the flag about finetuning says whether there is a rotation.
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
    config: (value) => ({
      model_type: 'gemma3_text',
      query_pre_attn_scalar: gemmaScale(value, 62),
      attn_logit_softcapping: value('attn_logit_softcapping') ?? null,
      final_logit_softcapping: value('final_logit_softcapping') ?? null,
      sliding_window: value('attention.sliding_window') ?? 1024,
      sliding_window_pattern: value('attention.sliding_window_pattern') ?? 6,
      rope_theta: value('rope.freq_base') ?? 1e6,
      rope_local_base_freq: value('rope.freq_base_swa') ?? 1e4,
    }),
  },
  phi3: {
    interleaved: false,
    modules: { attn_qkv: 'self_attn.qkv_proj', ffn_up: 'mlp.gate_up_proj', ffn_gate: '' },
    keys: ['attention.sliding_window', 'rope.scaling.attn_factor'],
    config: (value, gguf) => {
      const [short, long] = ['short', 'long'].map((kind) => factors(gguf, `rope_factors_${kind}.weight`));
      const window = value('attention.sliding_window');
      const attention = value('rope.scaling.attn_factor');
      return {
        sliding_window: window === 0 ? null : (window ?? null),
        original_max_position_embeddings:
          value('rope.scaling.original_context_length') ?? value('context_length'),
        rope_scaling: short &&
          long && {
            rope_type: 'longrope',
            short_factor: short,
            long_factor: long,
            ...(attention !== undefined && { attention_factor: attention }),
          },
      };
    },
  },
  olmo2: {
    interleaved: false,
    modules: {
      attn_norm: '',
      ffn_norm: '',
      post_attention_norm: 'post_attention_layernorm',
      post_ffw_norm: 'post_feedforward_layernorm',
    },
    keys: ['attention.sliding_window'],
    config: (value) => {
      const window = value('attention.sliding_window');
      return window === undefined ? {} : { model_type: 'olmo3', sliding_window: window };
    },
  },
  mistral3: {
    interleaved: true,
    keys: ['attention.temperature_scale'],
    config: () => ({ model_type: 'ministral3' }),
  },
};
