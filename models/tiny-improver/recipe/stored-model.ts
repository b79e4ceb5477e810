/** Stores the tiny improver for shipping: only the necessary files, as float32. */
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { writeSafetensors } from '../../../finetune/engine/safetensors-writer.js';
import { encodeFloats } from '../../../finetune/export/merged/merged-rows.js';
import { readJson, replaceFile } from '../../../src/base/files/files.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../../src/models/local/weights/safetensors.js';

/** Maximum size of the model in the package, in bytes. */
const mostBytes = 12_000_000;

/**
 * Writes the model in `source` to `directory`, replacing any model there. Other files in the directory are kept.
 * @param head a separate language head in the shape of the embedding, for a model with tied weights
 * @returns the number of parameters, and the size of the weights in bytes
 * @throws Error if the model is too large for the package
 */
export function storeModel(
  source: string,
  directory: string,
  head?: Float32Array,
): { readonly parameters: number; readonly bytes: number } {
  const stored = [...openWeights(source).values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    values: toFloat32(readTensorBytes(tensor), tensor.dtype),
  }));
  const { shape } = stored.find(({ name }) => name === 'model.embed_tokens.weight')!;
  if (head !== undefined) stored.push({ name: 'lm_head.weight', shape, values: head });
  const parameters = stored.reduce((sum, { values }) => sum + values.length, 0);
  if (4 * parameters > mostBytes) throw new Error(`${parameters} parameters exceed ${mostBytes / 1e6} MB`);
  mkdirSync(directory, { recursive: true });
  for (const name of readdirSync(source))
    if (/^(tokenizer.*|generation_config)\.json$/.test(name))
      copyFileSync(path.join(source, name), path.join(directory, name));
  const config = {
    ...(readJson(path.join(source, 'config.json')) as object),
    torch_dtype: 'float32',
    ...(head !== undefined && { tie_word_embeddings: false }),
  };
  replaceFile(path.join(directory, 'config.json'), `${JSON.stringify(config, null, 1)}\n`);
  const tensors = stored.map(({ name, shape: own, values }) => {
    const bytes = encodeFloats(values, 'F32');
    return { name, shape: own, dtype: 'F32', byteLength: bytes.length, chunks: () => [bytes] } as const;
  });
  const file = path.join(directory, 'model.safetensors');
  writeSafetensors(file, tensors, { format: 'pt' });
  return { parameters, bytes: statSync(file).size };
}
