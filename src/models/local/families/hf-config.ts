import path from 'node:path';
import { z } from 'zod';
import { UserError, unlessRejected } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../base/files/files.js';
import { largest } from '../../../statistics/descriptive.js';
import { harmlessModelKeys, type KnownKeys, rejectUnknownKeys, withoutKeys } from '../weights/config-keys.js';
import {
  attentionLayers,
  type DecoderConfig,
  type LayerConfig,
  llamaModules,
} from '../weights/decoder-config.js';
import { tokenIds } from '../weights/generation-config.js';
import { type GgufFile, isGguf, noModelError, openGguf } from '../weights/gguf.js';
import { ggufArchitecture, ggufConfig, ropeDivisors } from '../weights/gguf-config.js';
import { ggufFamilies } from '../weights/gguf-families.js';
import { type Rope, readRope, rotaryWidth, valueError } from '../weights/rope.js';
import { directoryWeights, isSameTensor } from '../weights/safetensors.js';
import {
  commonShape,
  configSchema,
  type HfConfig,
  type LayerType,
  type ModelFamily,
  maxContextTokens,
} from './config-schema.js';
import { modelFamilies } from './families.js';

/** Reads the config of a model directory or GGUF file, ignoring `ignoredKeys`. @throws UserError if it is unusable */
export function readDecoderConfig(directory: string, ignoredKeys: readonly string[] = []): DecoderConfig {
  if (isGguf(directory)) return readGgufConfig(openGguf(directory), ignoredKeys);
  const file = path.join(directory, 'config.json');
  const raw = readJson(file);
  if (raw === undefined) throw noModelError(directory);
  const config = parseDecoderConfig(withoutKeys(raw, ignoredKeys), file);
  return config.tied && storesOwnHead(directory, config.modules) ? { ...config, tied: false } : config;
}

/** True if the weights have an output layer that differs from the embedding; it is then used, as in Transformers 5. */
function storesOwnHead(directory: string, modules: DecoderConfig['modules']): boolean {
  // Problems with damaged weights are reported later, when the weights are opened.
  const isDifferent = unlessRejected(() => {
    const weights = directoryWeights(directory);
    const [head, embedding] = [modules.head, modules.embedding].map((name) => weights.get(`${name}.weight`));
    return head !== undefined && embedding !== undefined && !isSameTensor(head, embedding);
  });
  return isDifferent ?? false;
}

function readGgufConfig(gguf: GgufFile, ignoredKeys: readonly string[]): DecoderConfig {
  const parsed = parseDecoderConfig(ggufConfig(gguf, ignoredKeys), gguf.file);
  const { wholeNorms } = ggufFamilies[ggufArchitecture(gguf)]!;
  const config: DecoderConfig = {
    ...parsed,
    ...(wholeNorms && { norm: { ...parsed.norm, offset: 0 } }),
    layers: parsed.layers.map((layer) => ggufLayer(layer, gguf)),
  };
  const divisors = ropeDivisors(gguf);
  if (divisors === undefined) return config;
  if (divisors.length !== config.headDim / 2 || !divisors.every((divisor) => divisor > 0))
    throw valueError(gguf.file, 'rope_freqs.weight', divisors.slice(0, 4), [
      `${config.headDim / 2} positive numbers`,
    ]);
  const withDivisors = (rope: Rope | undefined): Rope | undefined =>
    rope && { theta: rope.theta, scaling: 'divided', divisors };
  return { ...config, layers: config.layers.map((layer) => ({ ...layer, rope: withDivisors(layer.rope) })) };
}

/** Adapts a layer to GGUF files: they store decay rates directly, and most interleave value heads that share a key. */
function ggufLayer({ recurrence, ...layer }: LayerConfig, { metadata }: GgufFile): LayerConfig {
  if (recurrence === undefined) return layer;
  // Ollama's own files state whether they reordered the heads.
  const order = metadata.get('qwen35.ssm.v_head_reordered') === false ? 'grouped' : 'tiled';
  return { ...layer, recurrence: { ...recurrence, decay: 'rate', order } };
}

/** Parses `config.json`, with old or new spellings of keys. @throws UserError naming unsupported keys and values */
export function parseDecoderConfig(raw: unknown, file: string): DecoderConfig {
  const { family, name, content } = readFamily(raw, file);
  const config = checkedValue(configSchema, { ...family.defaults, ...content }, file);
  rejectUnknownKeys(config, knownKeys(family), file);
  rejectUnsupported(config, name, family, file);
  const heads = config.num_attention_heads;
  const kvHeads = config.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0)
    throw valueError(file, 'num_key_value_heads', kvHeads, [`a divisor of ${heads}`]);
  const allBiased = config.attention_bias ?? false;
  const headDim = config.head_dim ?? config.hidden_size / heads;
  const familyOptions = family.options?.(config, file);
  const layers = readLayers(config, family, headDim, file);
  if (attentionLayers({ layers }).length === 0)
    throw valueError(file, 'layer_types', config.layer_types ?? null, [
      'a list with at least one "full_attention"',
    ]);
  return {
    architecture: name,
    modules: llamaModules,
    layers,
    hidden: config.hidden_size,
    heads,
    kvHeads,
    headDim,
    rotaryWidth: family.partialRotation ? rotaryWidth(config, headDim, 'full_attention', file) : headDim,
    intermediate: config.intermediate_size,
    vocabulary: config.vocab_size,
    norm: { kind: 'rms', offset: 0 },
    normEpsilon: config.rms_norm_eps,
    activation: family.activation ?? 'silu',
    gated: true,
    bias: {
      qkv: family.biases === 'queries, keys and values' || allBiased,
      output: family.biases !== 'queries, keys and values' && allBiased,
      mlp: config.mlp_bias ?? false,
    },
    qkNorm: false,
    queryGate: false,
    scoreScale: headDim ** -0.5,
    scoreCap: undefined,
    logitCap: undefined,
    embeddingFactor: 1,
    residualFactor: 1,
    logitFactor: 1,
    queryGrowth: undefined,
    tied: config.tie_word_embeddings ?? false,
    contextTokens: longestContext(config.max_position_embeddings, layers),
    eosTokens: tokenIds(config.eos_token_id),
    ...familyOptions,
  };
}

/** Returns the stated context length or, if longer, YaRN's; `max_position_embeddings` is often the original length. */
const longestContext = (stated: number, layers: readonly LayerConfig[]) =>
  Math.min(
    maxContextTokens,
    largest([
      stated,
      ...layers.map(({ rope }) =>
        rope?.scaling === 'yarn' ? Math.floor(rope.factor * rope.originalContext) : 0,
      ),
    ]),
  );

/** Default type of each vision-language model's text part; `text_config` holds its config and may name another type. */
const textModelTypes: Readonly<Record<string, string>> = {
  gemma3: 'gemma3_text',
  mistral3: 'mistral',
  qwen3_5: 'qwen3_5_text',
};

function readFamily(
  raw: unknown,
  file: string,
): { family: ModelFamily; name: string; content: Readonly<Record<string, unknown>> } {
  const parsed = z
    .looseObject({
      model_type: z.string().nullish(),
      architectures: z.array(z.string()).nullish(),
      text_config: z.looseObject({ model_type: z.string().nullish() }).nullish(),
    })
    .safeParse(raw);
  if (!parsed.success)
    throw new UserError({
      file,
      message: 'this is not a model config: it must be an object with a model_type',
      hint: 'download the model directory again',
    });
  const { model_type: type, architectures: classes, text_config: text } = parsed.data;
  const textType = textModelTypes[type ?? ''];
  if (textType !== undefined && text) {
    const { eos_token_id, tie_word_embeddings, dtype, torch_dtype, quantization_config } = parsed.data;
    const outerFields = { eos_token_id, tie_word_embeddings, dtype, torch_dtype, quantization_config };
    const outerEntries = Object.entries(outerFields).filter(([, value]) => value !== undefined);
    const content = { model_type: textType, ...Object.fromEntries(outerEntries), ...text };
    return readFamily({ ...content, architectures: undefined }, file);
  }
  const family = Object.hasOwn(modelFamilies, type ?? '') ? modelFamilies[type!] : undefined;
  const isDecoder = classes?.every((name) => /ForCausalLM$|^GPT2LMHeadModel$/.test(name)) ?? true;
  if (family !== undefined && isDecoder)
    return { family, name: type!, content: renameKeys(parsed.data, family) };
  throw new UserError({
    file,
    field: family === undefined ? 'model_type' : 'architectures',
    value: family === undefined ? (type ?? null) : classes,
    message:
      family === undefined ? 'this architecture is not supported' : 'this is not a causal language model',
    alternatives: family === undefined ? Object.keys(modelFamilies) : [`${type} with a class …ForCausalLM`],
    hint: 'choose another model, or serve this one with another program for the provider `openai` or `ollama`',
  });
}

/** Renames keys to Llama's names. If both names are present, the family's own takes precedence. */
function renameKeys(content: Readonly<Record<string, unknown>>, { spellings, deriveKeys }: ModelFamily) {
  const respell = ([key, value]: [string, unknown]): [string, unknown] => [spellings?.[key] ?? key, value];
  const entries = Object.entries(content);
  const isOwn = ([key]: [string, unknown]) => spellings !== undefined && key in spellings;
  const translated = Object.fromEntries([
    ...entries.filter((entry) => !isOwn(entry)),
    ...entries.filter(isOwn).map(respell),
  ]);
  const defaults = Object.entries(deriveKeys?.(translated) ?? {}).filter(([key]) => translated[key] == null);
  return { ...translated, ...Object.fromEntries(defaults) };
}

const knownKeys = (family: ModelFamily): KnownKeys => ({
  readKeys: [...Object.keys(commonShape), 'architectures', ...(family.keys ?? [])],
  harmlessKeys: new Set([...harmlessModelKeys, ...(family.harmlessKeys ?? [])]),
  neutral: {
    is_causal: true,
    causal: true,
    use_rope: true,
    use_rotary_embeddings: true,
    scale_attn_weights: true,
    use_qk_norm: false,
    qk_norm: false,
    qkv_bias: false,
    embedding_multiplier: 1,
    residual_multiplier: 1,
    logits_scaling: 1,
    logit_scale: 1,
    rotary_pct: 1,
    num_experts: 0,
    num_local_experts: 0,
    num_experts_per_tok: 0,
    ...family.neutral,
  },
});

const activations: Readonly<Record<string, DecoderConfig['activation']>> = {
  silu: 'silu',
  swish: 'silu',
  gelu_pytorch_tanh: 'gelu-tanh',
  gelu_new: 'gelu-tanh',
};

function rejectUnsupported(config: HfConfig, name: string, family: ModelFamily, file: string): void {
  const field = family.keys?.includes('hidden_activation') ? 'hidden_activation' : 'hidden_act';
  const valid = Object.keys(activations).filter((key) => activations[key] === (family.activation ?? 'silu'));
  if (!valid.includes(config[field] ?? '')) throw valueError(file, field, config[field], valid);
  if (config.quantization_config && Object.keys(config.quantization_config).length > 0)
    throw valueError(file, 'quantization_config', config.quantization_config.quant_method ?? 'some method', [
      'weights in float32, float16 or bfloat16, which `model.quantization` can quantise',
    ]);
  const factor = config.partial_rotary_factor ?? 1;
  if (factor !== 1 && !family.partialRotation) throw valueError(file, 'partial_rotary_factor', factor, ['1']);
  // Unless a family has all biases, Transformers ignores `mlp_bias`, whatever the weights contain.
  if (config.mlp_bias === true && family.biases !== 'all')
    throw valueError(file, 'mlp_bias', true, [`false, as ${name} requires`]);
  if (config.attention_bias === true && family.biases === 'none')
    throw valueError(file, 'attention_bias', true, [`false, as ${name} requires`]);
  const { sliding_window: window, max_position_embeddings: context } = config;
  const windowless = family.layerType === undefined && config.use_sliding_window !== false;
  if (windowless && window != null && window < context)
    throw valueError(file, 'sliding_window', window, [`null, as ${name} requires`, `at least ${context}`]);
}

function readLayers(config: HfConfig, family: ModelFamily, headDim: number, file: string): LayerConfig[] {
  const count = config.num_hidden_layers;
  if (config.layer_types && config.layer_types.length !== count)
    throw valueError(file, 'layer_types', config.layer_types, [
      `a list with one type for each of the ${count} layers`,
    ]);
  const window = family.hasWindows?.(config) ? (config.sliding_window ?? undefined) : undefined;
  const ropeFamily = {
    headDim,
    theta: family.theta ?? 10_000,
    allowsPartial: family.partialRotation ?? false,
    kinds: family.ropes ?? (['none', 'linear', 'llama3', 'yarn'] as const),
    ...(family.ropeAliases && { aliases: family.ropeAliases }),
    ...(family.ropeKeys && { keys: family.ropeKeys }),
  };
  const { recurrent } = family;
  return Array.from({ length: count }, (_, layer) => {
    if (
      recurrent &&
      (config.layer_types ? config.layer_types[layer] === recurrent.type : recurrent.includes(config, layer))
    )
      return { rope: undefined, window: undefined, recurrence: recurrent.recurrenceOf(config, file) };
    const defaultType =
      window === undefined ? 'full_attention' : (family.layerType?.(config, layer) ?? 'full_attention');
    const type = layerType(config, family, layer, defaultType, window !== undefined, file);
    const rope = family.ropeOverrides?.(config, layer, type);
    return {
      rope: rope === null ? undefined : readRope({ ...config, ...rope }, type, ropeFamily, file),
      window: type === 'sliding_attention' ? window : undefined,
    };
  });
}

function layerType(
  config: HfConfig,
  family: ModelFamily,
  layer: number,
  defaultType: LayerType,
  hasWindows: boolean,
  file: string,
): LayerType {
  const listedType = config.layer_types?.[layer];
  if (listedType === undefined) return defaultType;
  const possible: LayerType[] = family.allowsLayerTypes
    ? ['full_attention', ...(hasWindows ? (['sliding_attention'] as const) : [])]
    : [defaultType];
  const found = possible.find((one) => one === listedType);
  if (found !== undefined) return found;
  const others = family.recurrent === undefined ? [] : [family.recurrent.type];
  throw valueError(file, `layer_types.${layer}`, listedType, [...possible, ...others]);
}
