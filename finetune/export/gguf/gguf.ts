/** Writes a model directory as one GGUF file, for llama.cpp and programs based on it (Ollama, LM Studio). */
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { isGguf } from '../../../src/models/local/weights/gguf.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
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
  /** Context length stated in the file, in tokens. */
  readonly contextTokens: number;
  /**
   * The model's own context if it is longer: llama.cpp lacks sliding windows for the model, which limits its context.
   */
  readonly cappedFrom?: number;
}

/**
 * Writes a GGUF file.
 * @param model directory of a Hugging Face model, or a GGUF file
 * @param adapter merged during writing, with a single rounding; the other tensors of a GGUF file are copied
 *   unchanged
 * @param output must not exist; appears only when it is complete
 * @param ignoredKeys keys of config.json to ignore
 * @throws UserError if llama.cpp doesn't support the model, or the disk is full; or the reason of
 *   `hooks.signal`
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

/** GGUF's `general.file_type` for files with matrices of a type. */
const fileTypes: Readonly<Record<GgufTensorType, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };
