/** Describes a decoder as llama.cpp metadata; rejects what llama.cpp would compute differently. */
import { UserError } from '../../../src/base/errors.js';
import { parseDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { DecoderConfig, LayerConfig } from '../../../src/models/local/weights/decoder-config.js';
import type { GgufValue } from '../../../src/models/local/weights/gguf.js';
import { ggufConfig } from '../../../src/models/local/weights/gguf-config.js';
import type { Rope } from '../../../src/models/local/weights/rope.js';
import { smallest } from '../../../src/statistics/descriptive.js';
import type { TensorToWrite } from '../../engine/safetensors-writer.js';
import { type GgufMetadata, ggufValue } from './format.js';
import { ggufArchitecture, ropeTensors } from './tensors.js';

/** A key's value, with the type that llama.cpp expects. */
type TypedValue = readonly ['uint32' | 'float32' | 'string', GgufValue];
type GgufKeys = Readonly<Record<string, TypedValue>>;
const uint32 = (value: number): TypedValue => ['uint32', value];
const float32 = (value: number): TypedValue => ['float32', value];
const string = (value: string): TypedValue => ['string', value];

/** @throws UserError if llama.cpp can't compute what the config specifies */
export function architectureMetadata(config: DecoderConfig, tensors: readonly TensorToWrite[]): GgufMetadata {
  const architecture = ggufArchitecture(config);
  const keys = Object.entries({ ...commonKeys(config), ...extraKeys[architecture]?.(config) }).map(
    ([key, typed]) => [`${architecture}.${key}`, typed] as const,
  );
  requireRoundTrip(config, keys, tensors);
  const encode = ggufValue as Readonly<Record<TypedValue[0], (value: GgufValue) => Buffer>>;
  return keys.map(([key, [type, value]]) => [key, encode[type](value)]);
}

function commonKeys(config: DecoderConfig): GgufKeys {
  return {
    vocab_size: uint32(config.vocabulary),
    context_length: uint32(contextLength(config)),
    embedding_length: uint32(config.hidden),
    block_count: uint32(config.layers.length),
    feed_forward_length: uint32(config.intermediate),
    'attention.head_count': uint32(config.heads),
    'attention.head_count_kv': uint32(config.kvHeads),
    'attention.key_length': uint32(config.headDim),
    'attention.value_length': uint32(config.headDim),
    [`attention.layer_norm${config.norm.kind === 'layer' ? '' : '_rms'}_epsilon`]: float32(
      config.normEpsilon,
    ),
    ...ropeKeys(config),
  };
}

/** Exported architectures for which llama.cpp implements sliding windows. */
const windowedArchitectures = new Set(['gemma2', 'gemma3']);

/** Context length in tokens. If llama.cpp lacks a model's sliding windows, it is limited to the smallest window. */
export function contextLength(config: DecoderConfig): number {
  const { layers, contextTokens } = config;
  if (windowedArchitectures.has(ggufArchitecture(config))) return contextTokens;
  return smallest([contextTokens, ...layers.map(({ window }) => window ?? contextTokens)]);
}

/** The rotary embedding of the first rotating layer without a window, or else of the first rotating layer. */
function mainRope({ layers }: DecoderConfig): Rope | undefined {
  const rotatingLayers = layers.filter(({ rope }) => rope !== undefined);
  return (rotatingLayers.find(({ window }) => window === undefined) ?? rotatingLayers[0])?.rope;
}

function ropeKeys(config: DecoderConfig): GgufKeys {
  const rope = mainRope(config);
  if (rope === undefined) return {};
  return {
    'rope.dimension_count': uint32(config.rotaryWidth),
    'rope.freq_base': float32(rope.theta),
    ...scalingKeys(rope),
  };
}

function scalingKeys(rope: Rope): GgufKeys {
  const key = (name: string) => `rope.scaling.${name}`;
  switch (rope.scaling) {
    case 'linear':
      return { [key('type')]: string('linear'), [key('factor')]: float32(rope.factor) };
    case 'yarn': {
      // llama.cpp multiplies the stored factor for cosines and sines by its own default factor.
      const defaultFactor = rope.factor <= 1 ? 1 : 0.1 * Math.log(rope.factor) + 1;
      return {
        [key('type')]: string('yarn'),
        [key('factor')]: float32(rope.factor),
        [key('original_context_length')]: uint32(rope.originalContext),
        [key('yarn_beta_fast')]: float32(rope.betaFast),
        [key('yarn_beta_slow')]: float32(rope.betaSlow),
        ...(rope.attentionFactor !== defaultFactor && {
          [key('attn_factor')]: float32(rope.attentionFactor / defaultFactor),
        }),
      };
    }
    case 'longrope':
      return {
        [key('original_context_length')]: uint32(rope.originalContext),
        [key('attn_factor')]: float32(rope.attentionFactor),
      };
    default:
      return {};
  }
}

const windowOf = ({ layers }: DecoderConfig) => layers.find(({ window }) => window !== undefined)?.window;

const capKeys = ({ scoreCap, logitCap }: DecoderConfig): GgufKeys => ({
  ...(scoreCap !== undefined && { attn_logit_softcapping: float32(scoreCap) }),
  ...(logitCap !== undefined && { final_logit_softcapping: float32(logitCap) }),
});

/** The keys that only some architectures have. */
const extraKeys: Readonly<Record<string, (config: DecoderConfig) => GgufKeys>> = {
  gemma2: (config) => ({
    'attention.sliding_window': uint32(windowOf(config) ?? config.contextTokens),
    ...capKeys(config),
  }),
  gemma3: (config) => ({
    'attention.sliding_window': uint32(windowOf(config) ?? config.contextTokens),
    'rope.freq_base_swa': float32(config.layers[0]!.rope!.theta),
    ...capKeys(config),
  }),
  granite: (config) => ({
    embedding_scale: float32(config.embeddingFactor),
    residual_scale: float32(config.residualFactor),
    'attention.scale': float32(config.scoreScale),
    logit_scale: float32(1 / config.logitFactor),
  }),
  mistral3: ({ queryGrowth }): GgufKeys =>
    queryGrowth === undefined ? {} : { 'attention.temperature_scale': float32(queryGrowth.beta) },
};

function rejection(config: DecoderConfig, what: string): UserError {
  return new UserError({
    field: 'config.json',
    message: `llama.cpp's architecture ${ggufArchitecture(config)} doesn't support ${what}`,
    hint: 'serve the model directory with a server that supports it, e.g. vLLM',
  });
}

/** Reads the keys back and compares the configs. @throws UserError if the keys can't express part of the config */
function requireRoundTrip(
  config: DecoderConfig,
  keys: readonly (readonly [string, TypedValue])[],
  tensors: readonly TensorToWrite[],
): void {
  const architecture = ggufArchitecture(config);
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', architecture],
    ...keys.map(([key, [, value]]) => [key, value] as const),
  ]);
  const isRopeStored = ropeTensors(config).length > 0;
  const storedTensors = tensors
    .filter(({ name }) => !name.startsWith('rope_'))
    .map(({ name, shape }) => [name, { name, shape, dtype: 'F32', file: '', offset: 0, length: 0 }] as const);
  const file = { file: 'config.json', metadata, byteRanges: new Map(), tensors: new Map(storedTensors) };
  const writtenConfig = parseDecoderConfig(ggufConfig(file), 'config.json');
  const layer = ({ recurrence, rope, window }: LayerConfig) => ({
    rope: rope && isRopeStored ? { theta: rope.theta, scaling: 'none' } : rope,
    window: windowedArchitectures.has(architecture) ? window : undefined,
    recurrence,
  });
  const comparable = ({ layers, ...rest }: DecoderConfig) => ({ ...rest, layers: layers.map(layer) });
  const [expected, actual] = [comparable(config), comparable(writtenConfig)];
  const text = (value: unknown) =>
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'number' ? Number(one.toPrecision(6)) : one));
  const key = comparedKeys.find((key) => text(expected[key]) !== text(actual[key]));
  if (key !== undefined)
    throw rejection(
      config,
      key === 'layers' ? "these layers' windows or rotary embeddings" : `this value of ${key}`,
    );
}

const comparedKeys = [
  ...(['layers', 'rotaryWidth', 'activation', 'gated', 'bias', 'qkNorm', 'queryGate'] as const),
  ...(['scoreScale', 'scoreCap', 'logitCap', 'queryGrowth', 'tied'] as const),
  ...(['embeddingFactor', 'residualFactor', 'logitFactor'] as const),
] satisfies readonly (keyof DecoderConfig)[];
