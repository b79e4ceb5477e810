/** Merges an adapter into a GGUF file. Everything the adapter doesn't change is copied byte for byte. */
import { UserError } from '../../../src/base/errors.js';
import type { Adapter } from '../../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { type GgufFile, openGguf } from '../../../src/models/local/weights/gguf.js';
import { ggufTensors } from '../../../src/models/local/weights/gguf-tensors.js';
import { readTensorBytes, type StoredTensor } from '../../../src/models/local/weights/safetensors.js';
import { elementCount } from '../../engine/trainable.js';
import { adapterChanges, mergedRows, type WeightChange } from '../merged-rows.js';
import type { GgufMetadata, GgufTensor, GgufTensorType } from './format.js';
import { bytesPerElement, encode, fileForm, matrixType } from './tensors.js';

/** Bytes copied at a time. */
const chunkBytes = 1 << 22;

/** Keys that no longer apply: file type, alignment and split information. */
const outdated = /^general\.(file_type|alignment)$|^split\./;

interface Parts {
  readonly metadata: GgufMetadata;
  readonly tensors: readonly GgufTensor[];
}

/**
 * @param type for the matrices that the adapter changes
 * @throws UserError if there is no adapter, or it doesn't fit the model
 */
export function mergedGguf(
  model: string,
  config: DecoderConfig,
  adapter: Adapter | undefined,
  type: GgufTensorType,
): Parts {
  if (adapter === undefined)
    throw new UserError({
      field: 'model',
      value: model,
      message: 'this is a GGUF file already',
      remedy: 'name an adapter that was trained over it: finetune gguf tuned/adapter --out tuned.gguf',
    });
  const gguf = openGguf(model);
  const weights = ggufTensors(gguf);
  const changes = adapterChanges(adapter, weights);
  const placeOf = ({ file, offset }: StoredTensor) => `${file}:${offset}`;
  const changed = new Map(
    [...weights.values()].flatMap((weight) => {
      const change = changes.get(weight.name);
      return change === undefined ? [] : [[placeOf(weight), { weight, change }] as const];
    }),
  );
  return {
    metadata: copiedMetadata(gguf),
    tensors: [...gguf.tensors.values()].map((tensor) => {
      const found = changed.get(placeOf(tensor));
      return found === undefined ? copied(tensor) : merged(tensor, found, config, type);
    }),
  };
}

const copiedMetadata = ({ file, places }: GgufFile): GgufMetadata =>
  [...places]
    .filter(([key]) => !outdated.test(key))
    .map(([key, { start, end }]) => {
      const length = end - start;
      const value = { name: key, dtype: 'U8', shape: [length], file, offset: start, length };
      return [key, readTensorBytes(value)] as const;
    });

const copied = (tensor: StoredTensor): GgufTensor => ({
  name: tensor.name,
  shape: tensor.shape,
  type: tensor.dtype,
  byteLength: tensor.length,
  *parts() {
    for (let start = 0; start < tensor.length; start += chunkBytes)
      yield readTensorBytes(tensor, start, Math.min(chunkBytes, tensor.length - start));
  },
});

function merged(
  { name, shape }: StoredTensor,
  { weight, change }: { readonly weight: StoredTensor; readonly change: WeightChange },
  config: DecoderConfig,
  type: GgufTensorType,
): GgufTensor {
  const columns = shape.at(-1)!;
  const written = matrixType(type, columns);
  const form = fileForm(config, weight.name);
  return {
    name,
    shape,
    type: written,
    byteLength: elementCount(shape) * bytesPerElement[written],
    *parts() {
      for (const { values } of mergedRows(weight, change, form.rows))
        yield encode(form.change(values, columns), written, name);
    },
  };
}
