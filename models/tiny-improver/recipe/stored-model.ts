/** Stores the tiny improver for shipping: only the necessary files, with weights that keep the package small. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import {
  safetensorsParts,
  type TensorToWrite,
  writeSafetensors,
} from '../../../finetune/engine/safetensors-writer.js';
import { encodeFloats } from '../../../finetune/export/merged-rows.js';
import { UserError } from '../../../src/base/errors.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../../src/models/local/weights/safetensors.js';
import { readJson, replaceFile } from '../../../src/storage/files.js';

/** Maximum size of a model in the package, in bytes. */
const mostBytes = 12_000_000;

const weights = 'model.safetensors';
const metadata = { format: 'pt' };

type StoredDtype = 'float32' | 'float16';
const spelled = { float32: 'F32', float16: 'F16' } as const;

export interface StoredModel {
  readonly dtype: StoredDtype;
  readonly parameters: number;
  /** Size of all files in bytes. */
  readonly bytes: number;
}

export interface Storage {
  /** Maximum size of all files together, in bytes. */
  readonly most?: number;
  /** A separate language head in the shape of the embedding, for a model with tied weights. */
  readonly head?: Float32Array;
}

/**
 * Writes the model in `source` to `directory`, replacing any model there: as float32, or as float16 if float32
 * exceeds `most` bytes. Other files in the directory are kept.
 * @throws UserError if the directory contains something other than a model, or float16 is also too large
 */
export function storeModel(
  source: string,
  directory: string,
  { most = mostBytes, head }: Storage = {},
): StoredModel {
  requireModelOrNothing(directory);
  const names = readdirSync(source).filter(
    (name) => /^(tokenizer.*|config|generation_config)\.json$/.test(name) || name.endsWith('.jinja'),
  );
  const stored = floatTensors(source, head);
  const parameters = stored.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const others = names.reduce((sum, name) => sum + statSync(path.join(source, name)).size, 0);
  const size = (tensors: readonly TensorToWrite[]) =>
    [...safetensorsParts(tensors, metadata)].reduce((sum, { length }) => sum + length, others);
  const choices = (['float32', 'float16'] as const).map((dtype) => ({
    dtype,
    tensors: encoded(stored, dtype),
  }));
  const chosen = choices.find(({ tensors }) => size(tensors) <= most);
  if (chosen === undefined) {
    throw new UserError({
      field: 'model',
      value: source,
      message: `${parameters} parameters are more than fit into ${most / 1e6} MB`,
      remedy: 'train a smaller model',
    });
  }
  const { dtype, tensors } = chosen;
  mkdirSync(directory, { recursive: true });
  for (const name of names) {
    if (name !== 'config.json') copyFileSync(path.join(source, name), path.join(directory, name));
  }
  const config = {
    ...(readJson(path.join(source, 'config.json')) as object),
    torch_dtype: dtype,
    ...(head !== undefined && { tie_word_embeddings: false }),
  };
  replaceFile(path.join(directory, 'config.json'), `${JSON.stringify(config, null, 1)}\n`);
  writeSafetensors(path.join(directory, weights), tensors, metadata);
  const files = [...names, weights].map((name) => statSync(path.join(directory, name)).size);
  return { dtype, parameters, bytes: files.reduce((sum, bytes) => sum + bytes, 0) };
}

interface FloatTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

function floatTensors(source: string, head: Float32Array | undefined): readonly FloatTensor[] {
  const tensors = [...openWeights(source).values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    values: toFloat32(readTensorBytes(tensor), tensor.dtype),
  }));
  if (head === undefined) return tensors;
  const { shape } = tensors.find(({ name }) => name === 'model.embed_tokens.weight')!;
  return [...tensors, { name: 'lm_head.weight', shape, values: head }];
}

function encoded(tensors: readonly FloatTensor[], dtype: StoredDtype): readonly TensorToWrite[] {
  return tensors.map(({ name, shape, values }) => {
    const bytes = encodeFloats(values, spelled[dtype]);
    return { name, shape, dtype: spelled[dtype], byteLength: bytes.length, chunks: () => [bytes] };
  });
}

/** The embedded model's directory contains its recipe and card even before the model. */
function requireModelOrNothing(directory: string): void {
  if (!existsSync(directory) || existsSync(path.join(directory, 'config.json'))) return;
  const other = readdirSync(directory).filter((name) => name !== 'recipe' && name !== 'README.md');
  if (other.length === 0) return;
  throw new UserError({
    field: '--out',
    value: directory,
    message: `contains something other than a model: ${other[0]}`,
    remedy: 'choose a new or an empty directory',
  });
}
