/** Writes a model as one GGUF file, for llama.cpp and programs based on it (Ollama, LM Studio). */
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { isTaken, writeAtomic } from '../../../src/base/files/draft.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import { type GgufFile, isGguf, openGguf } from '../../../src/models/local/weights/gguf.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { readTensorBytes, type StoredTensor } from '../../../src/models/local/weights/safetensors.js';
import type { TensorToWrite } from '../../engine/safetensors-writer.js';
import { adapterChanges, type WeightChange } from '../merged/merged-rows.js';
import { createRoundingMeter } from '../merged/rounding.js';
import { copyTensor, writeParts } from '../merged/writing.js';
import { architectureMetadata, contextLength } from './architecture.js';
import { type GgufMetadata, type GgufTensorType, ggufParts, ggufValue, tensorBytes } from './format.js';
import { fileTensors, ggufArchitecture, matrixType, type TensorSources, tensorToWrite } from './tensors.js';
import { vocabularyMetadata } from './vocabulary.js';

export interface WrittenGguf {
  /** See `createRoundingMeter`; 1 without an adapter. */
  readonly keptChange: number;
  readonly bytes: number;
  readonly tensors: number;
  /** Context length written to the file, in tokens. */
  readonly contextTokens: number;
  /** The model's own context length, if the file's is shorter because llama.cpp lacks the model's sliding windows. */
  readonly cappedFrom?: number;
}

/**
 * @param adapter merged while writing, with a single rounding; tensors of a GGUF base that it doesn't change are copied
 * @param output must not exist, unless a killed command completed it (`isReplaceable`); appears only when complete
 * @throws UserError if the output exists or the model can't be converted; the signal's reason if it aborts
 */
export async function writeGguf(
  model: string,
  adapter: Adapter | undefined,
  output: string,
  type: GgufTensorType,
  ignoredKeys: readonly string[] = [],
  signal?: AbortSignal,
): Promise<WrittenGguf> {
  if (isTaken(output))
    throw new UserError({
      field: '--out',
      value: output,
      message: 'this file already exists',
      hint: 'choose another file name',
    });
  if (isGguf(model) && adapter === undefined)
    throw new UserError({
      field: 'model',
      value: model,
      message: 'this is already a GGUF file',
      hint: 'pass an adapter that was trained on it: policyloop finetune export tuned/adapter --to gguf --out tuned.gguf',
    });
  const config = readDecoderConfig(model, ignoredKeys);
  const weights = openWeights(model);
  const changes = adapter === undefined ? new Map<string, WeightChange>() : adapterChanges(adapter, weights);
  const roundingMeter = createRoundingMeter();
  const makeParts = isGguf(model) ? mergeIntoGguf : exportModel;
  const { metadata, tensors } = makeParts({ model, config, weights, changes, type, roundingMeter });
  const bytes = tensorBytes(tensors);
  await writeAtomic(output, (partial) => writeParts(partial, ggufParts(metadata, tensors), signal));
  const contextTokens = isGguf(model) ? config.contextTokens : contextLength(config);
  return {
    bytes,
    tensors: tensors.length,
    contextTokens,
    keptChange: roundingMeter.keptChange(),
    ...(contextTokens < config.contextTokens && { cappedFrom: config.contextTokens }),
  };
}

function exportModel(sources: TensorSources): FileParts {
  const { config, model, type } = sources;
  const tensors = fileTensors(sources);
  return {
    metadata: [
      ['general.architecture', ggufValue.string(ggufArchitecture(config))],
      ['general.type', ggufValue.string('model')],
      ['general.name', ggufValue.string(path.basename(path.resolve(model)))],
      ['general.file_type', ggufValue.uint32(fileTypes[type])],
      ['general.quantization_version', ggufValue.uint32(2)],
      ...architectureMetadata(config, tensors),
      ...vocabularyMetadata(model, config),
    ],
    tensors,
  };
}

/** GGUF's `general.file_type` by the type of the matrices. */
const fileTypes: Readonly<Record<GgufTensorType, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };

/** Keys that don't apply to the new file: file type, alignment and split information. */
const outdatedKeys = /^general\.(file_type|alignment)$|^split\./;

interface FileParts {
  readonly metadata: GgufMetadata;
  readonly tensors: readonly TensorToWrite[];
}

/** Merges the changes into a GGUF file's tensors; copies the other tensors byte for byte. */
function mergeIntoGguf(sources: TensorSources): FileParts {
  const { changes, model, type, weights } = sources;
  const gguf = openGguf(model);
  const locationOf = ({ file, offset }: StoredTensor) => `${file}:${offset}`;
  const changedWeights = [...weights.values()].filter(({ name }) => changes.has(name));
  const weightAt = new Map(changedWeights.map((weight) => [locationOf(weight), weight]));
  return {
    metadata: copyMetadata(gguf),
    tensors: [...gguf.tensors.values()].map((tensor) => {
      const weight = weightAt.get(locationOf(tensor));
      if (weight === undefined) return copyTensor(tensor);
      const { name, shape } = tensor;
      return tensorToWrite(weight, { name, shape, dtype: matrixType(type, shape[1]!) }, sources);
    }),
  };
}

const copyMetadata = ({ file, byteRanges }: GgufFile): GgufMetadata =>
  [...byteRanges]
    .filter(([key]) => !outdatedKeys.test(key))
    .map(([key, { start, end }]) => {
      const length = end - start;
      const value = { name: key, dtype: 'U8', shape: [length], file, offset: start, length };
      return [key, readTensorBytes(value)] as const;
    });
