/** Writes a model directory as one GGUF file, for llama.cpp and what is built on it (Ollama, LM Studio). */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../src/models/local/weights/open-weights.js';
import { makeRoom, writeParts } from '../file-parts.js';
import type { MergeHooks } from '../merge.js';
import { adapterChanges } from '../merged-rows.js';
import { requireModelDirectory } from '../model-directory.js';
import { type GgufMetadata, type GgufTensorType, ggufParts, ggufValue, tensorBytes } from './format.js';
import { ggufArchitecture, ggufTensors } from './tensors.js';
import { vocabularyMetadata } from './vocabulary.js';

export interface WrittenGguf {
  readonly bytes: number;
  readonly tensors: number;
  /** Tokens that the file says the model reads. */
  readonly contextTokens: number;
  /** Set where the model itself reads more: sliding windows, which llama.cpp lacks for it, cap the context. */
  readonly cappedFrom?: number;
}

/**
 * @param model directory of a Hugging Face model
 * @param adapter merged into it on the way, with one rounding only
 * @param output must not be there yet; appears once it is complete
 * @param ignoredKeys of config.json, which are read as if they were not there
 * @throws UserError when llama.cpp lacks what the model needs, or the disk is full; the reason of `hooks.signal`
 */
export async function writeGguf(
  model: string,
  adapter: Adapter | undefined,
  output: string,
  type: GgufTensorType,
  hooks: MergeHooks = {},
  ignoredKeys: readonly string[] = [],
): Promise<WrittenGguf> {
  if (existsSync(output))
    throw new UserError({
      field: '--out',
      value: output,
      message: 'this file is there already',
      remedy: 'name another one',
    });
  requireModelDirectory(model);
  const config = readDecoderConfig(model, ignoredKeys);
  const weights = openWeights(model);
  const changes = adapter === undefined ? new Map() : adapterChanges(adapter, weights);
  const metadata = [
    ...architectureMetadata(config, path.basename(path.resolve(model)), type),
    ...vocabularyMetadata(model, config),
  ];
  const tensors = ggufTensors(config, weights, changes, type);
  const bytes = tensorBytes(tensors);
  makeRoom(path.dirname(output), bytes);
  hooks.onStart?.(bytes);
  await writeParts(output, ggufParts(metadata, tensors), hooks);
  const contextTokens = contextOf(config);
  return {
    bytes,
    tensors: tensors.length,
    contextTokens,
    ...(contextTokens < config.contextTokens && { cappedFrom: config.contextTokens }),
  };
}

/** The format's numbers for a file whose matrices have the given type. */
const fileTypes: Readonly<Record<GgufTensorType, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };

/**
 * @param name of the model, for people
 * @throws UserError when llama.cpp would compute something else than this config asks for
 */
function architectureMetadata(config: DecoderConfig, name: string, type: GgufTensorType): GgufMetadata {
  refuseUnsupported(config);
  const architecture = ggufArchitecture(config);
  const rope = config.layers[0]!.rope!;
  const own = (key: string, value: Buffer) => [`${architecture}.${key}`, value] as const;
  return [
    ['general.architecture', ggufValue.string(architecture)],
    ['general.type', ggufValue.string('model')],
    ['general.name', ggufValue.string(name)],
    ['general.file_type', ggufValue.uint32(fileTypes[type])],
    ['general.quantization_version', ggufValue.uint32(2)],
    own('vocab_size', ggufValue.uint32(config.vocabulary)),
    own('context_length', ggufValue.uint32(contextOf(config))),
    own('embedding_length', ggufValue.uint32(config.hidden)),
    own('block_count', ggufValue.uint32(config.layers.length)),
    own('feed_forward_length', ggufValue.uint32(config.intermediate)),
    own('attention.head_count', ggufValue.uint32(config.heads)),
    own('attention.head_count_kv', ggufValue.uint32(config.kvHeads)),
    own('attention.key_length', ggufValue.uint32(config.headDim)),
    own('attention.value_length', ggufValue.uint32(config.headDim)),
    own('attention.layer_norm_rms_epsilon', ggufValue.float32(config.normEpsilon)),
    own('rope.dimension_count', ggufValue.uint32(config.headDim)),
    own('rope.freq_base', ggufValue.float32(rope.theta)),
    ...(rope.scaling === 'linear'
      ? [
          own('rope.scaling.type', ggufValue.string('linear')),
          own('rope.scaling.factor', ggufValue.float32(rope.factor)),
        ]
      : []),
  ];
}

/** Context in tokens. llama.cpp has no sliding windows for these architectures, which matters beyond one window only. */
function contextOf({ layers, contextTokens }: DecoderConfig): number {
  return Math.min(contextTokens, ...layers.map(({ window }) => window ?? contextTokens));
}

function refuseUnsupported(config: DecoderConfig): void {
  const architecture = ggufArchitecture(config);
  const rope = config.layers[0]!.rope!;
  const refuse = (what: string): never => {
    throw new UserError({
      field: 'config.json',
      message: `llama.cpp’s ${architecture} has no ${what}`,
      remedy: 'serve this model with another program',
    });
  };
  if (config.layers.some((layer) => JSON.stringify(layer.rope) !== JSON.stringify(rope)))
    refuse('rotary embedding that differs from layer to layer');
  if (rope.scaling === 'yarn') refuse('rope_type yarn in what is exported here');
  if (architecture === 'llama') return;
  if (rope.scaling === 'llama3') refuse('rope_type llama3');
  if (config.bias.mlp) refuse('mlp_bias');
  if (architecture === 'qwen3' && config.bias.qkv) refuse('attention_bias');
}
