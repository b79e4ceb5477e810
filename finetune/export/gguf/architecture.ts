/** A decoder's shape as metadata of GGUF, and what llama.cpp can't compute. */
import { UserError } from '../../../src/errors.js';
import type { DecoderConfig } from '../../../src/models/local/weights/hf-config.js';
import type { GgufMetadata, GgufTensorType, GgufValue } from './format.js';
import { ggufArchitecture } from './tensors.js';

/** The format's numbers for a file whose matrices have the given type. */
const fileTypes: Readonly<Record<GgufTensorType, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };

/**
 * @param name of the model, for people
 * @throws UserError when llama.cpp would compute something else than this config asks for
 */
export function architectureMetadata(
  config: DecoderConfig,
  name: string,
  type: GgufTensorType,
): GgufMetadata {
  refuseUnsupported(config);
  const architecture = ggufArchitecture(config);
  const { rope } = config.layers[0]!;
  const own = (key: string, value: GgufValue) => [`${architecture}.${key}`, value] as const;
  return [
    ['general.architecture', { kind: 'string', value: architecture }],
    ['general.type', { kind: 'string', value: 'model' }],
    ['general.name', { kind: 'string', value: name }],
    ['general.file_type', count(fileTypes[type])],
    ['general.quantization_version', count(2)],
    own('vocab_size', count(config.vocabulary)),
    own('context_length', count(contextOf(config))),
    own('embedding_length', count(config.hidden)),
    own('block_count', count(config.layers.length)),
    own('feed_forward_length', count(config.intermediate)),
    own('attention.head_count', count(config.heads)),
    own('attention.head_count_kv', count(config.kvHeads)),
    own('attention.key_length', count(config.headDim)),
    own('attention.value_length', count(config.headDim)),
    own('attention.layer_norm_rms_epsilon', { kind: 'float32', value: config.normEpsilon }),
    own('rope.dimension_count', count(config.headDim)),
    own('rope.freq_base', { kind: 'float32', value: rope.theta }),
    ...(rope.scaling === 'linear'
      ? [
          own('rope.scaling.type', { kind: 'string', value: 'linear' }),
          own('rope.scaling.factor', { kind: 'float32', value: rope.factor }),
        ]
      : []),
  ];
}

/** Context in tokens. llama.cpp has no sliding window for these architectures; within one window it makes no difference. */
export function contextOf({ layers, contextTokens }: DecoderConfig): number {
  return Math.min(contextTokens, ...layers.map(({ window }) => window ?? contextTokens));
}

function refuseUnsupported(config: DecoderConfig): void {
  const architecture = ggufArchitecture(config);
  const { rope } = config.layers[0]!;
  const refuse = (what: string): never => {
    throw new UserError({
      field: 'config.json',
      message: `llama.cpp’s ${architecture} has no ${what}`,
      remedy: 'serve this model with another program',
    });
  };
  if (config.layers.some((layer) => JSON.stringify(layer.rope) !== JSON.stringify(rope)))
    refuse('rotary embedding that differs from layer to layer');
  if (architecture === 'llama') return;
  if (rope.scaling === 'llama3') refuse('rope_type llama3');
  if (config.bias.mlp) refuse('mlp_bias');
  if (architecture === 'qwen3' && config.bias.qkv) refuse('attention_bias');
}

function count(value: number): GgufValue {
  return { kind: 'uint32', value };
}
