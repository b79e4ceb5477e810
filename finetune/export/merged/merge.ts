/** Merges an adapter into its model, W + s·B·A, a block of rows at a time to save memory. */
import { copyFileSync, existsSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { parseDecoderConfig, readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import { decoderTensors, requireTensor } from '../../../src/models/local/graph/parameters.js';
import { ggufTokenizerConfig, ggufTokenizerJson } from '../../../src/models/local/tokens/gguf-tokenizer.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { ggufEndTokens } from '../../../src/models/local/weights/generation-config.js';
import { type GgufFile, isGguf, openGguf } from '../../../src/models/local/weights/gguf.js';
import { blockType } from '../../../src/models/local/weights/gguf-blocks.js';
import { ggufConfig } from '../../../src/models/local/weights/gguf-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import {
  readSafetensors,
  type StoredTensor,
  textName,
} from '../../../src/models/local/weights/safetensors.js';
import { lineageFile } from '../../dataset/lineage.js';
import { makeModelDirectory, modelFiles, stateFloat32 } from '../../engine/model-directory.js';
import { safetensorsParts, type TensorToWrite } from '../../engine/safetensors-writer.js';
import { elementCount } from '../../engine/trainable.js';
import { adapterChanges, encodeFloats, mergedRows, requireHalves, type WeightChange } from './merged-rows.js';
import { type Rounding, type RoundingMeter, roundingMeter } from './rounding.js';
import { type MergeHooks, makeRoom, storedBytes, writeParts } from './writing.js';

/** Dtype of changed matrices: the model's own, or float32. For GGUF files, see `mergeGguf`. */
type MergedDtype = 'stored' | 'float32';

export interface Merged extends Rounding {
  readonly changedMatrices: number;
  /** Bytes of all weights. */
  readonly bytes: number;
}

/**
 * Copies the model, and computes changed matrices in float64. The directory appears only when it is complete.
 * @param output as in `makeModelDirectory`
 * @throws UserError if the adapter can't be merged into the model, or the disk is full; the reason of `hooks.signal` if
 * it aborts
 */
export async function mergeAdapter(
  model: string,
  adapter: Adapter,
  output: string,
  dtype: MergedDtype,
  hooks: MergeHooks = {},
): Promise<Merged> {
  if (isGguf(model)) return mergeGguf(model, adapter, output, dtype === 'float32', hooks);
  const weights = openWeights(model);
  if ([...weights.values()].some(({ transposed }) => transposed))
    throw new UserError({
      field: 'model',
      value: model,
      message: "GPT-2 adapters can't be merged, because the model's files store transposed weights",
      hint: 'use the adapter with `model.adapter`, or merge it with PEFT',
    });
  const changes = adapterChanges(adapter, weights);
  const rounding = roundingMeter();
  const files = modelFiles(model);
  // Omit a second copy of the weights in another layout, which some directories have, because it would stay unmerged.
  const used = new Set([...weights.values()].map(({ file }) => file));
  const weightFiles = files
    .filter((name) => name.endsWith('.safetensors') && used.has(realpathSync(path.join(model, name))))
    .map((name) => ({ name, ...mergedFile(path.join(model, name), changes, dtype, rounding) }));
  const bytes = weightFiles
    .flatMap(({ tensors }) => tensors)
    .reduce((sum, { byteLength }) => sum + byteLength, 0);
  await makeModelDirectory(output, async (directory) => {
    makeRoom(directory, bytes);
    hooks.onStart?.(bytes);
    for (const { name, tensors, metadata } of weightFiles)
      await writeParts(path.join(directory, name), safetensorsParts(tensors, metadata), hooks);
    for (const name of files.filter((one) => !one.endsWith('.safetensors') && one !== lineageFile))
      copyFileSync(path.join(model, name), path.join(directory, name));
    // The adapter's lineage includes its base's lineage.
    const lineage = path.join(adapter.directory, lineageFile);
    if (existsSync(lineage)) copyFileSync(lineage, path.join(directory, lineageFile));
    if (dtype === 'float32') stateFloat32(directory);
  });
  return { changedMatrices: changes.size, bytes, ...rounding.read() };
}

/** A weight file with the adapter merged and the tensors in their original order. */
function mergedFile(
  file: string,
  changes: ReadonlyMap<string, WeightChange>,
  dtype: MergedDtype,
  rounding: RoundingMeter,
): { tensors: TensorToWrite[]; metadata: Readonly<Record<string, string>> } {
  const { tensors, metadata } = readSafetensors(file);
  return {
    metadata,
    tensors: tensors.map((tensor) => {
      const { name, shape, dtype: stored, length } = tensor;
      const change = changes.get(textName(name));
      if (change === undefined)
        return { name, shape, dtype: stored, byteLength: length, chunks: () => storedBytes(tensor) };
      const written = dtype === 'float32' ? 'F32' : stored;
      const byteLength = written === 'F32' ? elementCount(shape) * 4 : length;
      return {
        name,
        shape,
        dtype: written,
        byteLength,
        chunks: () => changedRows(tensor, change, written, rounding),
      };
    }),
  };
}

function* changedRows(
  tensor: StoredTensor,
  added: WeightChange,
  dtype: string,
  rounding: RoundingMeter,
): Iterable<Uint8Array> {
  for (const { values, change } of mergedRows(tensor, added)) {
    const bytes = encodeFloats(values, dtype);
    rounding.add(values, bytes, dtype, change!);
    if (!Number.isFinite(rounding.read().roundingError))
      throw new UserError({
        file: tensor.file,
        field: tensor.name,
        message: `with the adapter, this matrix has values outside the range of ${dtype}`,
        hint: 'use --dtype f32',
      });
    yield bytes;
  }
}

/** Class names in Transformers by `model_type`, for programs that read `architectures` in config.json. */
const classes: Readonly<Record<string, string>> = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
  smollm3: 'SmolLM3ForCausalLM',
  granite: 'GraniteForCausalLM',
  gemma2: 'Gemma2ForCausalLM',
  gemma3_text: 'Gemma3ForCausalLM',
  phi3: 'Phi3ForCausalLM',
  olmo2: 'Olmo2ForCausalLM',
  olmo3: 'Olmo3ForCausalLM',
  ministral3: 'Ministral3ForCausalLM',
  lfm2: 'Lfm2ForCausalLM',
};

/**
 * Merges into a GGUF file's weights, and writes a Hugging Face directory with a tokenizer rebuilt from metadata.
 * @param float32 if true, all weights become float32; if false, only quantized blocks are converted, to float16
 * @throws UserError if config.json can't express the model in the file
 */
async function mergeGguf(
  model: string,
  adapter: Adapter,
  output: string,
  float32: boolean,
  hooks: MergeHooks,
): Promise<Merged> {
  const gguf = openGguf(model);
  const config = readDecoderConfig(model);
  const { json, offset } = sameConfig(gguf, config);
  const weights = openWeights(model);
  const changes = adapterChanges(adapter, weights);
  const rounding = roundingMeter();
  const tensors = decoderTensors(config).map(({ name, shape }): TensorToWrite => {
    const weight = requireTensor(weights, name);
    const isBlocks = blockType(weight.dtype)?.packing !== undefined;
    const dtype = float32 ? 'F32' : isBlocks ? 'F16' : (weight.dtype as 'F32' | 'F16' | 'BF16');
    const less = offset !== 0 && name.endsWith('norm.weight') ? offset : 0;
    return {
      name,
      shape,
      dtype,
      byteLength: elementCount(shape) * (dtype === 'F32' ? 4 : 2),
      *chunks() {
        for (const { values, change } of mergedRows(weight, changes.get(name))) {
          if (dtype === 'F16') requireHalves(values, name, ['--dtype f32']);
          const bytes = encodeFloats(less === 0 ? values : values.map((value) => value - less), dtype);
          if (change !== undefined) rounding.add(values, bytes, dtype, change);
          yield bytes;
        }
      },
    };
  });
  const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  await makeModelDirectory(output, async (directory) => {
    makeRoom(directory, bytes);
    hooks.onStart?.(bytes);
    const write = (name: string, content: object) =>
      writeFileSync(path.join(directory, name), `${JSON.stringify(content, undefined, 2)}\n`);
    const ends = ggufEndTokens(gguf);
    write('config.json', { ...json, dtype: float32 ? 'float32' : 'float16', eos_token_id: ends });
    write('generation_config.json', { eos_token_id: ends });
    write('tokenizer.json', { version: '1.0', ...ggufTokenizerJson(gguf) });
    write('tokenizer_config.json', {
      tokenizer_class: 'PreTrainedTokenizerFast',
      ...ggufTokenizerConfig(gguf),
    });
    const parts = safetensorsParts(tensors, { format: 'pt' });
    await writeParts(path.join(directory, 'model.safetensors'), parts, hooks);
  });
  return { changedMatrices: changes.size, bytes, ...rounding.read() };
}

/** Converts the file's metadata to config.json, and parses the result to check that it describes the same model. */
function sameConfig(gguf: GgufFile, config: DecoderConfig) {
  const json = ggufConfig(gguf);
  const type = String(json.model_type);
  const read = parseDecoderConfig(json, gguf.file);
  const reread: DecoderConfig = { ...read, norm: { ...read.norm, offset: config.norm.offset } };
  const same = JSON.stringify(reread) === JSON.stringify(config);
  if (same && Object.hasOwn(classes, type))
    return {
      json: { architectures: [classes[type]], ...json },
      offset: read.norm.offset - config.norm.offset,
    };
  throw new UserError({
    file: gguf.file,
    field: 'general.architecture',
    value: gguf.metadata.get('general.architecture'),
    message: `config.json can't express this model${gguf.tensors.has('rope_freqs.weight') ? ' (the divisors in rope_freqs)' : ''}`,
    hint: 'write a GGUF file: policyloop finetune export tuned/adapter --to gguf --out tuned.gguf',
  });
}
