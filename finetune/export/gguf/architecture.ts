/** Describes a decoder as llama.cpp metadata; refuses architectures that llama.cpp would compute differently. */
import { UserError } from '../../../src/base/errors.js';
import type { DecoderConfig, LayerConfig } from '../../../src/models/local/weights/decoder-config.js';
import type { Rope } from '../../../src/models/local/weights/rope.js';
import { smallest } from '../../../src/statistics/descriptive.js';
import { type GgufMetadata, ggufValue } from './format.js';
import { ggufArchitecture } from './tensors.js';

const { float32, int32s, string, uint32 } = ggufValue;
type Own = Readonly<Record<string, Buffer>>;

/** @throws UserError if llama.cpp can't compute what the config specifies */
export function architectureKeys(config: DecoderConfig): GgufMetadata {
  const architecture = ggufArchitecture(config);
  const keys: Own = {
    vocab_size: uint32(config.vocabulary),
    context_length: uint32(contextOf(config)),
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
    ...ropeKeys(config, architecture),
    ...(own[architecture] ?? plain)(config),
  };
  return Object.entries(keys).map(([key, value]) => [`${architecture}.${key}`, value] as const);
}

/** Architectures for which llama.cpp implements sliding windows. */
const windowed = new Set(['gemma2', 'gemma3', 'olmo2']);

/** Context length in tokens. If llama.cpp lacks a model's sliding windows, the context is limited to one window. */
export function contextOf(config: DecoderConfig): number {
  const { layers, contextTokens } = config;
  if (windowed.has(ggufArchitecture(config))) return contextTokens;
  return smallest([contextTokens, ...layers.map(({ window }) => window ?? contextTokens)]);
}

function refused(config: DecoderConfig, what: string): UserError {
  return new UserError({
    field: 'config.json',
    message: `llama.cpp's architecture ${ggufArchitecture(config)} doesn't support ${what}`,
    hint: 'serve the model directory with a server that supports it, e.g. vLLM',
  });
}

const sameAs = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function ropeKeys(config: DecoderConfig, architecture: string): Own {
  const ropes = config.layers.filter(({ recurrence }) => recurrence === undefined).map(({ rope }) => rope);
  const rope = ropes.find((one) => one !== undefined);
  if (rope === undefined) return {};
  if (!perLayer.has(architecture) && ropes.some((one) => !sameAs(one, rope)))
    throw refused(config, 'rotary embeddings that differ between layers');
  const main = architecture === 'gemma3' || architecture === 'olmo2' ? globalRope(config) : rope;
  return {
    'rope.dimension_count': uint32(config.rotaryWidth),
    'rope.freq_base': float32(main.theta),
    ...scalingKeys(main, config, architecture),
  };
}

/** Architectures for which llama.cpp itself knows each layer's rotary embedding. */
const perLayer = new Set(['gemma3', 'olmo2', 'smollm3']);

const globalRope = ({ layers }: DecoderConfig): Rope =>
  (layers.find(({ window }) => window === undefined) ?? layers[0]!).rope!;

function scalingKeys(rope: Rope, config: DecoderConfig, architecture: string): Own {
  const key = (name: string) => `rope.scaling.${name}`;
  switch (rope.scaling) {
    case 'linear':
      return { [key('type')]: string('linear'), [key('factor')]: float32(rope.factor) };
    case 'llama3':
      if (architecture !== 'llama') throw refused(config, 'rope_type llama3');
      return {};
    case 'yarn': {
      if (!rope.truncate) throw refused(config, 'yarn with truncate: false');
      // llama.cpp multiplies the stored factor for cosines and sines by its own default factor.
      const usual = rope.factor <= 1 ? 1 : 0.1 * Math.log(rope.factor) + 1;
      return {
        [key('type')]: string('yarn'),
        [key('factor')]: float32(rope.factor),
        [key('original_context_length')]: uint32(rope.originalContext),
        [key('yarn_beta_fast')]: float32(rope.betaFast),
        [key('yarn_beta_slow')]: float32(rope.betaSlow),
        ...(rope.attentionFactor !== usual && {
          [key('attn_factor')]: float32(rope.attentionFactor / usual),
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

function plain(config: DecoderConfig): Own {
  const architecture = ggufArchitecture(config);
  if (config.bias.mlp && architecture !== 'llama' && architecture !== 'granite')
    throw refused(config, 'mlp_bias');
  if (config.bias.qkv && !['llama', 'qwen2', 'granite'].includes(architecture))
    throw refused(config, 'attention_bias');
  return {};
}

/** @throws UserError if the layers don't follow the pattern that llama.cpp hard-codes for the architecture */
function requireLayers(
  config: DecoderConfig,
  expected: (layer: number) => { readonly [K in keyof LayerConfig]?: LayerConfig[K] | undefined },
  what: string,
): void {
  const differs = config.layers.some((layer, i) =>
    Object.entries(expected(i)).some(([key, value]) => !sameAs(layer[key as keyof LayerConfig], value)),
  );
  if (differs) throw refused(config, what);
}

/** llama.cpp derives Gemma's score scale from hidden/heads for the largest model, else from the head dimension. */
function requireGemmaScale(config: DecoderConfig, layersOfLargest: number): void {
  const { headDim, heads, hidden, layers, scoreScale } = config;
  const width = layers.length === layersOfLargest ? hidden / heads : headDim;
  if (Math.abs(scoreScale * Math.sqrt(width) - 1) > 1e-6)
    throw refused(config, `query_pre_attn_scalar other than ${width}`);
}

/** The layer pattern in which every n-th layer has no window. */
const windowsBut = (n: number, window: number | undefined) => (layer: number) => ({
  window: (layer + 1) % n === 0 ? undefined : window,
});

const own: Readonly<Record<string, (config: DecoderConfig) => Own>> = {
  gemma2(config) {
    requireGemmaScale(config, 46);
    const window = config.layers[0]!.window;
    requireLayers(
      config,
      windowsBut(2, window),
      'layer_types other than alternating windowed and full layers',
    );
    if (config.scoreCap === undefined || config.logitCap === undefined)
      throw refused(config, 'a missing attn_logit_softcapping or final_logit_softcapping');
    return {
      'attention.sliding_window': uint32(window ?? config.contextTokens),
      attn_logit_softcapping: float32(config.scoreCap),
      final_logit_softcapping: float32(config.logitCap),
    };
  },
  gemma3(config) {
    requireGemmaScale(config, 62);
    const [first] = config.layers;
    const window = first!.window;
    requireLayers(
      config,
      windowsBut(6, window),
      'layer_types other than repetitions of five windowed layers and a full one',
    );
    const local = { theta: first!.rope?.theta, scaling: 'none' };
    requireLayers(
      config,
      (layer) => (layer % 6 === 5 ? {} : { rope: local as Rope }),
      'windowed layers whose rotary embeddings are scaled or differ',
    );
    return {
      'attention.sliding_window': uint32(window ?? config.contextTokens),
      'rope.freq_base_swa': float32(first!.rope!.theta),
      ...(config.scoreCap !== undefined && { attn_logit_softcapping: float32(config.scoreCap) }),
      ...(config.logitCap !== undefined && { final_logit_softcapping: float32(config.logitCap) }),
    };
  },
  olmo2(config) {
    plain(config);
    const window = config.layers.find((layer) => layer.window !== undefined)?.window;
    if (window === undefined) return {};
    requireLayers(
      config,
      windowsBut(4, window),
      'layer_types other than repetitions of three windowed layers and a full one',
    );
    const local = { theta: globalRope(config).theta, scaling: 'none' };
    requireLayers(
      config,
      (layer) => (layer % 4 === 3 ? {} : { rope: local as Rope }),
      'windowed layers whose rotary embeddings are scaled or have their own base',
    );
    return { 'attention.sliding_window': uint32(window) };
  },
  smollm3(config) {
    plain(config);
    const rope = config.layers.find((layer) => layer.rope !== undefined)?.rope;
    requireLayers(
      config,
      (layer) => ({ rope: (layer + 1) % 4 === 0 ? undefined : rope }),
      'rotary embeddings in other layers than the first three of every four',
    );
    return {};
  },
  granite(config) {
    plain(config);
    return {
      embedding_scale: float32(config.embeddingFactor),
      residual_scale: float32(config.residualFactor),
      'attention.scale': float32(config.scoreScale),
      logit_scale: float32(1 / config.logitFactor),
    };
  },
  mistral3(config) {
    plain(config);
    const { queryGrowth, layers } = config;
    if (queryGrowth === undefined) return {};
    const rope = layers[0]!.rope!;
    if (rope.scaling !== 'yarn' || rope.originalContext !== queryGrowth.context)
      throw refused(config, "query scaling without yarn, or with an original context other than yarn's");
    return { 'attention.temperature_scale': float32(queryGrowth.beta) };
  },
  gpt2: () => ({}),
  lfm2(config) {
    plain(config);
    const convolution = config.layers.find(({ recurrence }) => recurrence !== undefined)?.recurrence;
    if (convolution?.kind !== 'short convolution') throw refused(config, 'models without convolutions');
    if (convolution.bias) throw refused(config, 'conv_bias');
    return {
      'attention.head_count_kv': int32s(
        config.layers.map(({ recurrence }) => (recurrence === undefined ? config.kvHeads : 0)),
      ),
      'shortconv.l_cache': uint32(convolution.kernel),
    };
  },
  qwen35(config) {
    plain(config);
    const linear = config.layers.find(({ recurrence }) => recurrence !== undefined)?.recurrence;
    const interval = config.layers.findIndex(({ recurrence }) => recurrence === undefined) + 1;
    requireLayers(
      config,
      (layer) => ({ recurrence: (layer + 1) % interval === 0 ? undefined : linear! }),
      'attention layers at irregular intervals',
    );
    if (linear?.kind !== 'gated delta') throw refused(config, 'models with attention in every layer');
    const { kernel, keyHeads, keyDim, valueHeads, valueDim } = linear;
    if (keyDim !== valueDim) throw refused(config, 'key heads and value heads of different widths');
    // The rotated pairs cycle through a position's three axes, which are equal for text.
    const pairs = config.rotaryWidth / 2;
    const sections = [...[0, 1, 2].map((axis) => Math.ceil((pairs - axis) / 3)), 0];
    return {
      full_attention_interval: uint32(interval),
      'rope.dimension_sections': int32s(sections),
      'ssm.conv_kernel': uint32(kernel),
      'ssm.group_count': uint32(keyHeads),
      'ssm.inner_size': uint32(valueHeads * valueDim),
      'ssm.state_size': uint32(keyDim),
      'ssm.time_step_rank': uint32(valueHeads),
    };
  },
};
