/** Merges an adapter into its model, W + s·B·A, a block of rows at a time to save memory. */
import { copyFileSync, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { readSafetensors, textOnlyName } from '../../../src/models/local/weights/safetensors.js';
import { lineageFile } from '../../dataset/lineage.js';
import {
  makeModelDirectory,
  modelFiles,
  requireModelDirectory,
  setDtypeFloat32,
} from '../../engine/model-directory.js';
import { safetensorsParts, type TensorToWrite } from '../../engine/safetensors-writer.js';
import { adapterChanges, mergeTensor, type WeightChange } from './merged-rows.js';
import { createRoundingMeter, type RoundingMeter } from './rounding.js';
import { copyTensor, writeParts } from './writing.js';

export interface MergeResult {
  readonly changedMatrices: number;
  /** Bytes of all weights. */
  readonly bytes: number;
  /** See `createRoundingMeter`. */
  readonly keptChange: number;
}

/**
 * Copies the model, and computes changed matrices in float64. The directory appears only when it is complete.
 * @param output as in `makeModelDirectory`
 * @param dtype dtype of the changed matrices: the model's own, or float32
 * @throws UserError if the adapter can't be merged into the model; the signal's reason if it aborts
 */
export async function mergeAdapter(
  model: string,
  adapter: Adapter,
  output: string,
  dtype: 'stored' | 'f32',
  signal?: AbortSignal,
): Promise<MergeResult> {
  requireModelDirectory(model);
  const weights = openWeights(model);
  if ([...weights.values()].some(({ transposed }) => transposed))
    throw new UserError({
      field: 'model',
      value: model,
      message: "GPT-2 adapters can't be merged, because the model's files store transposed weights",
      hint: 'use the adapter with `model.adapter`, or merge it with PEFT',
    });
  const changes = adapterChanges(adapter, weights);
  const roundingMeter = createRoundingMeter();
  const files = modelFiles(model);
  // Omit a second copy of the weights in another layout, which some directories have, because it would stay unmerged.
  const usedFiles = new Set([...weights.values()].map(({ file }) => file));
  const weightFiles = files
    .filter((name) => name.endsWith('.safetensors') && usedFiles.has(realpathSync(path.join(model, name))))
    .map((name) => ({ name, ...mergedFile(path.join(model, name), changes, dtype, roundingMeter) }));
  const mergedTensors = weightFiles.flatMap(({ tensors }) => tensors);
  const bytes = mergedTensors.reduce((total, { byteLength }) => total + byteLength, 0);
  const write = async (directory: string) => {
    for (const { name, tensors, metadata } of weightFiles)
      await writeParts(path.join(directory, name), safetensorsParts(tensors, metadata), signal);
    for (const name of files.filter((one) => !one.endsWith('.safetensors') && one !== lineageFile))
      copyFileSync(path.join(model, name), path.join(directory, name));
    // The adapter's lineage includes its base's lineage.
    const lineage = path.join(adapter.directory, lineageFile);
    if (existsSync(lineage)) copyFileSync(lineage, path.join(directory, lineageFile));
    if (dtype === 'f32') setDtypeFloat32(directory);
  };
  await makeModelDirectory(output, write, '--out');
  return { changedMatrices: changes.size, bytes, keptChange: roundingMeter.keptChange() };
}

/** A weight file with the adapter merged and the tensors in their original order. */
function mergedFile(
  file: string,
  changes: ReadonlyMap<string, WeightChange>,
  dtype: 'stored' | 'f32',
  roundingMeter: RoundingMeter,
) {
  const { tensors, metadata } = readSafetensors(file);
  const mergedTensors = tensors.map((tensor): TensorToWrite => {
    const change = changes.get(textOnlyName(tensor.name));
    if (change === undefined) return copyTensor(tensor);
    const { name, shape } = tensor;
    const target = { name, shape, dtype: dtype === 'f32' ? 'F32' : tensor.dtype };
    return mergeTensor(tensor, change, target, roundingMeter);
  });
  return { metadata, tensors: mergedTensors };
}
