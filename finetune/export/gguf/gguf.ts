/** Writes a model directory as one GGUF file, for llama.cpp and what is built on it (Ollama, LM Studio). */
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { isGguf } from '../../../src/models/local/weights/gguf.js';
import { openWeights } from '../../../src/models/local/weights/open-weights.js';
import { isTaken, writeWhole } from '../../../src/storage/draft.js';
import { makeRoom, writeParts } from '../file-parts.js';
import type { MergeHooks } from '../merge.js';
import { adapterChanges } from '../merged-rows.js';
import { architectureKeys, contextOf } from './architecture.js';
import {
  type GgufMetadata,
  type GgufTensor,
  type GgufTensorType,
  ggufParts,
  ggufValue,
  tensorBytes,
} from './format.js';
import { mergedGguf } from './from-gguf.js';
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
 * @param model directory of a Hugging Face model, or a GGUF file
 * @param adapter merged into it on the way, with one rounding only; what a GGUF file has beside it is copied as it is
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
  if (isTaken(output))
    throw new UserError({
      field: '--out',
      value: output,
      message: 'this file is there already',
      remedy: 'name another one',
    });
  const config = readDecoderConfig(model, ignoredKeys);
  const { metadata, tensors } = isGguf(model)
    ? mergedGguf(model, config, adapter, type)
    : exported(model, config, adapter, type);
  const bytes = tensorBytes(tensors);
  makeRoom(path.dirname(output), bytes);
  hooks.onStart?.(bytes);
  await writeWhole(output, (partial) => writeParts(partial, ggufParts(metadata, tensors), hooks));
  const contextTokens = isGguf(model) ? config.contextTokens : contextOf(config);
  return {
    bytes,
    tensors: tensors.length,
    contextTokens,
    ...(contextTokens < config.contextTokens && { cappedFrom: config.contextTokens }),
  };
}

function exported(
  model: string,
  config: DecoderConfig,
  adapter: Adapter | undefined,
  type: GgufTensorType,
): { readonly metadata: GgufMetadata; readonly tensors: readonly GgufTensor[] } {
  const weights = openWeights(model);
  const changes = adapter === undefined ? new Map() : adapterChanges(adapter, weights);
  return {
    metadata: [
      ['general.architecture', ggufValue.string(ggufArchitecture(config))],
      ['general.type', ggufValue.string('model')],
      ['general.name', ggufValue.string(path.basename(path.resolve(model)))],
      ['general.file_type', ggufValue.uint32(fileTypes[type])],
      ['general.quantization_version', ggufValue.uint32(2)],
      ...architectureKeys(config),
      ...vocabularyMetadata(model, config),
    ],
    tensors: ggufTensors(config, weights, changes, type),
  };
}

/** The format's numbers for a file whose matrices have the given type. */
const fileTypes: Readonly<Record<GgufTensorType, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };
