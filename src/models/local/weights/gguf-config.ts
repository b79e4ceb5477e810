/** Converts GGUF metadata to the keys of `config.json` (llama.cpp: constants.py, src/llama-model.cpp). */
import { UserError } from '../../../base/errors.js';
import { ignoreHint } from './config-keys.js';
import type { GgufFile, GgufValue } from './gguf.js';
import { ggufFamilies, storedNumbers } from './gguf-families.js';

export function ggufArchitecture({ metadata, file }: GgufFile): string {
  const name = metadata.get('general.architecture');
  if (typeof name === 'string' && Object.hasOwn(ggufFamilies, name)) return name;
  throw new UserError({
    file,
    field: 'general.architecture',
    value: name ?? null,
    message: 'this architecture is not supported',
    alternatives: Object.keys(ggufFamilies),
    hint: 'serve this model with llama-server or Ollama and use the provider `openai` or `ollama`',
  });
}

const knownKeys = new Set(
  (
    'block_count context_length embedding_length feed_forward_length vocab_size attention.head_count ' +
    'attention.head_count_kv attention.key_length attention.value_length attention.layer_norm_rms_epsilon attention.causal ' +
    'rope.dimension_count rope.freq_base rope.scaling.type rope.scaling.factor rope.scale_linear rope.scaling.original_context_length ' +
    'rope.scaling.finetuned rope.scaling.yarn_log_multiplier rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow tensor_data_layout'
  ).split(' '),
);

/** Keys of the vision part, which some files contain. */
const visionKeys = /^(vision|mm)\.|^(image_token_(index|id)|spatial_merge_size|vision_\w+_token_id)$/;

const neutralValues: Readonly<Record<string, GgufValue>> = {
  expert_count: 0,
  expert_used_count: 0,
  'attention.causal': true,
  'attention.clamp_kqv': 0,
  'attention.max_alibi_bias': 0,
  'attention.scale': 0,
  use_parallel_residual: false,
  'rope.scaling.attn_factor': 1,
};

/** Converts GGUF metadata to the keys of `config.json`. @throws UserError for missing, unknown and unsupported keys */
export function ggufConfig(gguf: GgufFile, ignoredKeys: readonly string[] = []): Record<string, unknown> {
  const architecture = ggufArchitecture(gguf);
  const { tensors } = gguf;
  rejectUnknown(gguf, architecture, ignoredKeys);
  const readValue = valueReader(gguf, architecture);
  const readNumber = numberReader(gguf, architecture);
  const heads = readNumber('attention.head_count');
  const has = (name: string) => tensors.has(name);
  const headDim = ggufHeadDim(gguf);
  rejectOtherWidths(gguf, architecture, headDim);
  const rotaryWidth = Number(readValue('rope.dimension_count') ?? headDim);
  const embedding = tensors.get('token_embd.weight');
  return {
    model_type: architecture,
    hidden_size: readNumber('embedding_length'),
    num_hidden_layers: readNumber('block_count'),
    num_attention_heads: heads,
    num_key_value_heads:
      readValue('attention.head_count_kv') === undefined ? heads : readNumber('attention.head_count_kv'),
    head_dim: headDim,
    intermediate_size: readNumber('feed_forward_length'),
    vocab_size: embedding?.shape[0] ?? readNumber('vocab_size'),
    rms_norm_eps: readNumber('attention.layer_norm_rms_epsilon'),
    attention_bias: architecture !== 'qwen2' && has('blk.0.attn_q.bias'),
    mlp_bias: has('blk.0.ffn_gate.bias'),
    tie_word_embeddings: !has('output.weight'),
    max_position_embeddings: readNumber('context_length'),
    rope_theta: readValue('rope.freq_base') === undefined ? 10_000 : readNumber('rope.freq_base'),
    ...(rotaryWidth !== headDim && { partial_rotary_factor: rotaryWidth / headDim }),
    ...ropeScaling(readValue, readNumber),
    ...ggufFamilies[architecture]?.config?.(readValue, gguf),
  };
}

export function ggufHeadDim(gguf: GgufFile): number {
  const architecture = ggufArchitecture(gguf);
  const readNumber = numberReader(gguf, architecture);
  return gguf.metadata.has(`${architecture}.attention.key_length`)
    ? readNumber('attention.key_length')
    : readNumber('embedding_length') / readNumber('attention.head_count');
}

/** Returns a function that reads a key, given without the prefix, under any of its names, or the family's default. */
function valueReader({ metadata }: GgufFile, architecture: string) {
  const { aliases = {}, defaults = {} } = ggufFamilies[architecture]!;
  return (key: string): GgufValue | undefined => {
    const spellings = [key, ...Object.keys(aliases).filter((alias) => aliases[alias] === key)];
    const spelling = spellings.find((name) => metadata.has(`${architecture}.${name}`));
    return spelling === undefined ? defaults[key] : metadata.get(`${architecture}.${spelling}`);
  };
}

function numberReader(gguf: GgufFile, architecture: string): (key: string) => number {
  const { file } = gguf;
  const readValue = valueReader(gguf, architecture);
  return (key) => {
    const stored = readValue(key);
    // Some writers store one number per layer even if all are equal.
    const values = Array.isArray(stored) ? stored : [stored];
    const numbers = new Set(values);
    const [first] = numbers;
    if (numbers.size === 1 && typeof first === 'number') return first;
    throw new UserError({
      file,
      field: `${architecture}.${key}`,
      value: Array.isArray(stored) ? stored.slice(0, 4) : (stored ?? null),
      message: stored === undefined ? 'is missing' : 'must be the same number for all layers',
      hint: 'use a different file of this model, or serve it with llama-server or Ollama',
    });
  };
}

function ropeScaling(value: (key: string) => GgufValue | undefined, number: (key: string) => number) {
  const type = value('rope.scaling.type') ?? (value('rope.scale_linear') === undefined ? 'none' : 'linear');
  // For longrope, the family reads the factors from tensors.
  if (type === 'none' || type === 'longrope') return {};
  const copyKey = (key: string, name: string) => (value(key) === undefined ? {} : { [name]: number(key) });
  const yarnLog = value('rope.scaling.yarn_log_multiplier');
  const magnitude = value('rope.scaling.attn_factor') ?? 1;
  return {
    rope_scaling: {
      rope_type: type,
      factor: number(
        value('rope.scaling.factor') === undefined ? 'rope.scale_linear' : 'rope.scaling.factor',
      ),
      ...copyKey('rope.scaling.original_context_length', 'original_max_position_embeddings'),
      ...copyKey('rope.scaling.yarn_beta_fast', 'beta_fast'),
      ...copyKey('rope.scaling.yarn_beta_slow', 'beta_slow'),
      ...(yarnLog !== undefined && { mscale: value('rope.scaling.mscale') ?? 1, mscale_all_dim: yarnLog }),
      ...(type === 'yarn' &&
        magnitude !== 1 && {
          attention_factor:
            number('rope.scaling.attn_factor') * yarnMagnitude(number('rope.scaling.factor'), yarnLog),
        }),
      ...copyKey('attention.temperature_scale', 'llama_4_scaling_beta'),
    },
  };
}

/** Computes the factor by which llama.cpp multiplies cosines and sines in addition to the file's own factor. */
const yarnMagnitude = (factor: number, log: GgufValue | undefined): number => {
  const magnitude = (scale: number) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1);
  return magnitude(1) / (log === undefined ? 1 : magnitude(Number(log)));
};

/** Returns the divisors of the headDim / 2 rotary frequencies, if the file stores them (Llama 3.1 and later). */
export const ropeDivisors = (gguf: GgufFile): readonly number[] | undefined =>
  storedNumbers(gguf, 'rope_freqs.weight');

function rejectUnknown({ metadata, file }: GgufFile, architecture: string, ignored: readonly string[]): void {
  for (const [key, value] of metadata) {
    if (!key.startsWith(`${architecture}.`) || ignored.includes(key)) continue;
    const name = key.slice(architecture.length + 1);
    const { keys, aliases = {} } = ggufFamilies[architecture]!;
    const isYarn = metadata.get(`${architecture}.rope.scaling.type`) === 'yarn';
    if (isYarn && name === 'rope.scaling.attn_factor') continue;
    if (keys?.includes(name) || name in aliases || visionKeys.test(name)) continue;
    if (name in neutralValues ? value === neutralValues[name] : knownKeys.has(name)) continue;
    throw new UserError({
      file,
      field: key,
      value: Array.isArray(value) ? value.slice(0, 4) : value,
      message: 'unknown key that may change what the model computes',
      hint: `serve this model with llama-server or Ollama; ${ignoreHint(key)}`,
    });
  }
}

/** Requires that values are as wide as keys and, in most families, that whole heads are rotated. */
function rejectOtherWidths({ metadata, file }: GgufFile, architecture: string, headDim: number): void {
  for (const name of ['attention.value_length', 'rope.dimension_count']) {
    const value = metadata.get(`${architecture}.${name}`) ?? headDim;
    const { partialRotation } = ggufFamilies[architecture]!;
    if (value === headDim || (name === 'rope.dimension_count' && partialRotation)) continue;
    throw new UserError({
      file,
      field: `${architecture}.${name}`,
      value,
      message: 'this width is not supported',
      alternatives: [`${headDim} (the width of a head)`],
    });
  }
}
