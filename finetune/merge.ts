/** Merges an adapter into its model: W + s·B·A, tensor by tensor, with little memory. */
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../src/errors.js';
import { type Adapter, loraScale } from '../src/models/local/adapter.js';
import { requireTensor } from '../src/models/local/parameters.js';
import { toFloat32 } from '../src/models/local/quantization.js';
import {
  openWeights,
  readSafetensors,
  readTensorBytes,
  type StoredTensor,
} from '../src/models/local/safetensors.js';
import { encodeFloats } from './float-formats.js';
import { modelFiles, newModelDirectory, stateFloat32 } from './model-directory.js';
import { writeSafetensors } from './safetensors-writer.js';

/** Bytes that are copied, or changed, at once. */
const chunkBytes = 1 << 22;

/**
 * `stored`: changed matrices are rounded to the dtype that the model has. `float32`: they are kept in float32, which
 * loses nothing of what was trained (in bfloat16 the logits of small test models moved by 0.05).
 */
export type MergedDtype = 'stored' | 'float32';

/**
 * Writes the merged model: the same files, and of the weights the same numbers but for the matrices that the adapter
 * changes, which are computed in float64. In float32, config.json says so.
 * @param output must not hold a model yet
 * @throws UserError when the adapter does not fit the model
 */
export function mergeAdapter(model: string, adapter: Adapter, output: string, dtype: MergedDtype): void {
  const weights = openWeights(model);
  const changes = new Map(
    [...adapter.tensors.keys()]
      .filter((name) => name.endsWith('.lora_A.weight'))
      .map((name) => name.slice(0, -'.lora_A.weight'.length))
      .map((module) => {
        const weight = requireTensor(weights, `${module}.weight`);
        return [weight.name, change(adapter, module, weight)];
      }),
  );
  newModelDirectory(output);
  for (const name of modelFiles(model)) {
    const [from, to] = [path.join(model, name), path.join(output, name)];
    if (name.endsWith('.safetensors')) writeMerged(from, to, changes, dtype);
    else copyFileSync(from, to);
  }
  if (dtype === 'float32') stateFloat32(output);
}

interface Change {
  readonly weight: StoredTensor;
  /** [rank, in] */
  readonly a: Float32Array;
  /** [out, rank] */
  readonly b: Float32Array;
  readonly rank: number;
  readonly scale: number;
}

function change(adapter: Adapter, module: string, weight: StoredTensor): Change {
  const factor = (name: 'A' | 'B') => {
    const tensor = requireTensor(adapter.tensors, `${module}.lora_${name}.weight`);
    return { tensor, values: toFloat32(readTensorBytes(tensor), tensor.dtype) };
  };
  const a = factor('A');
  const b = factor('B');
  if (a.tensor.shape[1] !== weight.shape[1] || b.tensor.shape[0] !== weight.shape[0])
    throw new UserError({
      file: a.tensor.file,
      field: module,
      value: [b.tensor.shape[0], a.tensor.shape[1]],
      message: `the adapter is for another model: this one has ${weight.shape.join(' × ')} here`,
    });
  return { weight, a: a.values, b: b.values, rank: adapter.rank, scale: loraScale(adapter) };
}

/** One file of weights, its tensors in the same order. */
function writeMerged(
  from: string,
  to: string,
  changes: ReadonlyMap<string, Change>,
  dtype: MergedDtype,
): void {
  const { tensors, metadata } = readSafetensors(from);
  writeSafetensors(
    to,
    tensors.map((tensor) => {
      const one = changes.get(tensor.name);
      const { name, shape } = tensor;
      if (one === undefined)
        return { name, shape, dtype: tensor.dtype, byteLength: tensor.length, chunks: () => bytesOf(tensor) };
      const written = dtype === 'float32' ? 'F32' : tensor.dtype;
      const elements = shape.reduce((product, size) => product * size, 1);
      const byteLength = written === 'F32' ? elements * 4 : tensor.length;
      return { name, shape, dtype: written, byteLength, chunks: () => changedRows(one, written) };
    }),
    metadata,
  );
}

function* bytesOf(tensor: StoredTensor): Iterable<Uint8Array> {
  for (let start = 0; start < tensor.length; start += chunkBytes)
    yield readTensorBytes(tensor, start, Math.min(chunkBytes, tensor.length - start));
}

function* changedRows({ weight, a, b, rank, scale }: Change, dtype: string): Iterable<Uint8Array> {
  const [rows, columns] = weight.shape as [number, number];
  const rowBytes = weight.length / rows;
  const step = Math.max(1, Math.floor(chunkBytes / rowBytes));
  const sums = new Float64Array(columns);
  for (let start = 0; start < rows; start += step) {
    const count = Math.min(step, rows - start);
    const part = toFloat32(readTensorBytes(weight, start * rowBytes, count * rowBytes), weight.dtype);
    for (let row = 0; row < count; row++) {
      sums.fill(0);
      for (let k = 0; k < rank; k++) {
        const factor = scale * b[(start + row) * rank + k]!;
        for (let column = 0; column < columns; column++)
          sums[column] = sums[column]! + factor * a[k * columns + column]!;
      }
      for (let column = 0; column < columns; column++)
        part[row * columns + column] = part[row * columns + column]! + sums[column]!;
    }
    yield encodeFloats(part, dtype);
  }
}
