/** A model's weights with an adapter's change added, W + s·B·A, in blocks of rows: little memory, whatever the size. */
import { UserError } from '../src/errors.js';
import { type Adapter, loraScale } from '../src/models/local/adapter.js';
import { requireTensor } from '../src/models/local/parameters.js';
import { toFloat32 } from '../src/models/local/quantization.js';
import { readTensorBytes, type StoredTensor, type StoredTensors } from '../src/models/local/safetensors.js';

/** Bytes that are read at once, about. */
const blockBytes = 1 << 22;

/** Rows of A that are added in one go: reading and writing the sums takes longer than the products. */
const together = 4;

/** The product s·B·A, not yet computed; the rank is filled up with zeros to a multiple of 4. */
export interface WeightChange {
  /** [rank, in] */
  readonly a: Float32Array;
  /** [out, rank] s·B */
  readonly b: Float64Array;
  readonly rank: number;
}

/**
 * What an adapter changes, by the names of the weights.
 * @throws UserError when the adapter does not fit the model
 */
export function adapterChanges(
  adapter: Adapter,
  weights: StoredTensors,
): ReadonlyMap<StoredTensor['name'], WeightChange> {
  return new Map(
    [...adapter.tensors.keys()]
      .filter((name) => name.endsWith('.lora_A.weight'))
      .map((name) => name.slice(0, -'.lora_A.weight'.length))
      .map((module) => {
        const weight = requireTensor(weights, `${module}.weight`);
        return [weight.name, change(adapter, module, weight)];
      }),
  );
}

function change(adapter: Adapter, module: string, weight: StoredTensor): WeightChange {
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
  const rank = Math.ceil(adapter.rank / together) * together;
  const scaled = new Float64Array(weight.shape[0]! * rank);
  const scale = loraScale(adapter);
  for (let i = 0; i < b.values.length; i++) {
    const [row, k] = [Math.floor(i / adapter.rank), i % adapter.rank];
    scaled[row * rank + k] = scale * b.values[i]!;
  }
  const rows = new Float32Array(rank * weight.shape[1]!);
  rows.set(a.values);
  return { a: rows, b: scaled, rank };
}

export interface RowBlock {
  /** [rows, columns] */
  readonly values: Float32Array;
  /** Sum of the squares of what was added. */
  readonly squaredChange: number;
}

/**
 * The rows of a weight (a vector counts as one row). What is added is summed in float64.
 * @param multiple every block but the last has a multiple of this many rows
 */
export function* mergedRows(
  weight: StoredTensor,
  added: WeightChange | undefined,
  multiple = 1,
): Generator<RowBlock> {
  const rows = weight.shape.length === 1 ? 1 : weight.shape[0]!;
  const rowBytes = weight.length / rows;
  const step = Math.max(1, Math.floor(blockBytes / rowBytes / multiple)) * multiple;
  for (let start = 0; start < rows; start += step) {
    const count = Math.min(step, rows - start);
    const values = toFloat32(readTensorBytes(weight, start * rowBytes, count * rowBytes), weight.dtype);
    const squaredChange = added === undefined ? 0 : addRows(values, added, start, count);
    yield { values, squaredChange };
  }
}

function addRows(values: Float32Array, { a, b, rank }: WeightChange, start: number, count: number): number {
  const columns = values.length / count;
  const sums = new Float64Array(columns);
  let squares = 0;
  for (let row = 0; row < count; row++) {
    sums.fill(0);
    for (let k = 0; k < rank; k += together) {
      const at = (start + row) * rank + k;
      const [b0, b1, b2, b3] = [b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!];
      const [a0, a1, a2, a3] = [k * columns, (k + 1) * columns, (k + 2) * columns, (k + 3) * columns];
      for (let i = 0; i < columns; i++)
        sums[i] = sums[i]! + b0 * a[a0 + i]! + b1 * a[a1 + i]! + b2 * a[a2 + i]! + b3 * a[a3 + i]!;
    }
    for (let i = 0; i < columns; i++) {
      const at = row * columns + i;
      squares += sums[i]! * sums[i]!;
      values[at] = values[at]! + sums[i]!;
    }
  }
  return squares;
}
