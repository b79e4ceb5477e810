/** Computes weights with an adapter's change, W + s·B·A, in blocks of rows, and encodes them. */
import { UserError } from '../../../src/base/errors.js';
import type { Adapter, ModuleChange } from '../../../src/models/local/graph/adapter.js';
import { requireTensor } from '../../../src/models/local/graph/parameters.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readRows } from '../../../src/models/local/weights/rows.js';
import {
  readTensorBytes,
  type StoredTensor,
  type StoredTensors,
} from '../../../src/models/local/weights/safetensors.js';
import type { TensorToWrite } from '../../engine/safetensors-writer.js';
import { elementCount } from '../../engine/trainable.js';
import type { RoundingMeter } from './rounding.js';

/** Encodes numbers as little-endian bytes; rounds to nearest, ties to even (for Q8_0, see `encodeQ8`). */
export function encodeFloats(values: Float32Array, dtype: string): Uint8Array {
  switch (dtype) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case 'BF16':
      return new Uint8Array(toHalves(values, toBfloat16).buffer);
    case 'F16':
      return new Uint8Array(toHalves(values, toFloat16).buffer);
    case 'Q8_0':
      return encodeQ8(values);
    default:
      throw new Error(`weights can't be written as ${dtype}`);
  }
}

/** @throws UserError if a weight is too large for float16 */
function requireFloat16(values: Float32Array, name: string): void {
  for (let i = 0; i < values.length; i++)
    if (Math.abs(values[i]!) >= 65_520)
      throw new UserError({
        field: name,
        value: values[i],
        message: 'a weight is too large for float16',
        alternatives: ['--dtype f32'],
      });
}

/** Converts each value to 16 bits; `convert` receives its float32 bits and the value. */
function toHalves(values: Float32Array, convert: (bits: number, value: number) => number): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) halves[i] = convert(bits[i]!, values[i]!);
  return halves;
}

/** Rounds to the upper 16 bits of float32; NaN stays NaN. */
const toBfloat16 = (bits: number) =>
  (bits & 0x7fff_ffff) > 0x7f80_0000 ? 0x7fc0 : (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;

const toFloat16 = (bits: number, value: number) =>
  ((bits >>> 16) & 0x8000) | halfMagnitude(bits & 0x7fff_ffff, value);

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

function halfMagnitude(bits: number, value: number): number {
  if (bits > 0x7f80_0000) return 0x7e00;
  // 65520 is halfway between the largest half and the next step.
  if (bits >= 0x477f_f000) return 0x7c00;
  // 2^-14 is the smallest normal half. The bias drops from 127 to 15, the fraction from 23 to 10 bits.
  if (bits >= 0x3880_0000) return (bits - 0x3800_0000 + 0xfff + ((bits >>> 13) & 1)) >>> 13;
  // Between 0.5 and 1, float32 has steps of 2^-24, like halves below 2^-14.
  scratch[0] = Math.abs(value) + 0.5;
  return scratchBits[0]! - 0x3f00_0000;
}

/** Number of values that share a scale in llama.cpp's Q8_0. */
export const q8BlockSize = 32;

/** Encodes Q8_0 like llama.cpp: per block, a float16 scale (max |x|/127) and 32 int8 codes; ties round away from 0. */
function encodeQ8(values: Float32Array): Uint8Array {
  const blockCount = values.length / q8BlockSize;
  const scales = new Float32Array(blockCount);
  const bytes = new Int8Array(blockCount * (2 + q8BlockSize));
  for (let b = 0; b < blockCount; b++) {
    let largest = 0;
    for (let i = 0; i < q8BlockSize; i++) largest = Math.max(largest, Math.abs(values[b * q8BlockSize + i]!));
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    scales[b] = scale;
    for (let i = 0; i < q8BlockSize; i++) {
      const steps = Math.fround(values[b * q8BlockSize + i]! * inverse);
      bytes[b * (2 + q8BlockSize) + 2 + i] = Math.sign(steps) * Math.floor(Math.abs(steps) + 0.5);
    }
  }
  const halves = new Int8Array(toHalves(scales, toFloat16).buffer);
  for (let b = 0; b < blockCount; b++) bytes.set(halves.subarray(2 * b, 2 * b + 2), b * (2 + q8BlockSize));
  return new Uint8Array(bytes.buffer);
}

const blockBytes = 1 << 22;

/** Number of rows of A added per pass. Loading and storing the sums takes longer than the multiplications. */
const rowsPerPass = 4;

/** The product s·B·A in factored form, with the rank zero-padded to a multiple of 4. */
export interface WeightChange {
  /** [rank, in] */
  readonly a: Float32Array;
  /** s·B: [out, rank] */
  readonly b: Float64Array;
  readonly rank: number;
}

/** @throws UserError if the model lacks a module of the adapter */
export function adapterChanges(
  adapter: Adapter,
  weights: StoredTensors,
): ReadonlyMap<StoredTensor['name'], WeightChange> {
  return new Map(
    [...adapter.modules].map(([module, moduleChange]) => {
      const weight = requireTensor(weights, `${module}.weight`);
      return [weight.name, changeOf(moduleChange, weight)];
    }),
  );
}

function changeOf({ a, b, rank: storedRank, scale }: ModuleChange, weight: StoredTensor): WeightChange {
  const floatsOf = (tensor: StoredTensor) => toFloat32(readTensorBytes(tensor), tensor.dtype);
  const rank = Math.ceil(storedRank / rowsPerPass) * rowsPerPass;
  const scaledB = new Float64Array(weight.shape[0]! * rank);
  for (const [i, value] of floatsOf(b).entries())
    scaledB[Math.floor(i / storedRank) * rank + (i % storedRank)] = scale * value;
  const paddedA = new Float32Array(rank * weight.shape[1]!);
  paddedA.set(floatsOf(a));
  return { a: paddedA, b: scaledB, rank };
}

/** Bytes per element of the types in which merged weights can be written. */
const bytesPerElement: Readonly<Record<string, number>> = { F32: 4, F16: 2, BF16: 2, Q8_0: 34 / 32 };

/** Form in which a file stores rows of weights. */
export interface RowForm {
  /** The number of rows to convert at a time must be a multiple of this. */
  readonly rowMultiple: number;
  /** Converts rows of `columns` numbers to the file's order and values. */
  convert(values: Float32Array, columns: number): Float32Array;
}

export const rawForm: RowForm = { rowMultiple: 1, convert: (values) => values };

/** Describes a weight to write, plus an adapter's change, if any. `chunks` throws a UserError if F16 can't hold it. */
export const mergeTensor = (
  weight: StoredTensor,
  change: WeightChange | undefined,
  target: Pick<TensorToWrite, 'dtype' | 'name' | 'shape'>,
  roundingMeter: RoundingMeter,
  form = rawForm,
): TensorToWrite => ({
  ...target,
  byteLength: elementCount(target.shape) * (bytesPerElement[target.dtype] ?? 0),
  chunks: () => encodeRows(weight, change, target.dtype, roundingMeter, form),
});

function* encodeRows(
  weight: StoredTensor,
  adapterChange: WeightChange | undefined,
  dtype: string,
  roundingMeter: RoundingMeter,
  form: RowForm,
): Iterable<Uint8Array> {
  const columns = weight.shape.length === 1 ? 1 : weight.shape.at(-1)!;
  for (const { values, change } of mergeRows(weight, adapterChange, form.rowMultiple)) {
    const exact = form.convert(values, columns);
    if (dtype === 'F16') requireFloat16(exact, weight.name);
    const bytes = encodeFloats(exact, dtype);
    if (change !== undefined) roundingMeter.add(exact, bytes, dtype, form.convert(change, columns));
    yield bytes;
  }
}

/**
 * Adds the change in float64. A vector counts as one row.
 * @param multiple the number of rows in each block, except the last, is a multiple of this
 * @returns blocks of `values` [rows, columns], each with its change in the same layout, if there is one
 */
function* mergeRows(
  weight: StoredTensor,
  adapterChange: WeightChange | undefined,
  multiple: number,
): Generator<{ readonly values: Float32Array; readonly change?: Float32Array }> {
  const rows = weight.shape.length === 1 ? 1 : weight.shape[0]!;
  const rowBytes = weight.length / rows;
  const blockRows = Math.max(1, Math.floor(blockBytes / rowBytes / multiple)) * multiple;
  for (let start = 0; start < rows; start += blockRows) {
    const count = Math.min(blockRows, rows - start);
    const values = weight.shape.length === 1 ? readRows(weight) : readRows(weight, start, count);
    const change = adapterChange && addChange(values, adapterChange, start, count);
    yield change === undefined ? { values } : { values, change };
  }
}

/** Adds the change to `values` in place, and returns it. */
function addChange(values: Float32Array, { a, b, rank }: WeightChange, start: number, count: number) {
  const columns = values.length / count;
  const sums = new Float64Array(columns);
  const change = new Float32Array(values.length);
  for (let row = 0; row < count; row++) {
    sums.fill(0);
    for (let k = 0; k < rank; k += rowsPerPass) {
      const at = (start + row) * rank + k;
      const [b0, b1, b2, b3] = [b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!];
      const [a0, a1, a2, a3] = [k * columns, (k + 1) * columns, (k + 2) * columns, (k + 3) * columns];
      for (let i = 0; i < columns; i++)
        sums[i] = sums[i]! + b0 * a[a0 + i]! + b1 * a[a1 + i]! + b2 * a[a2 + i]! + b3 * a[a3 + i]!;
    }
    const rowValues = values.subarray(row * columns, (row + 1) * columns);
    for (let i = 0; i < columns; i++) rowValues[i] = rowValues[i]! + sums[i]!;
    change.set(sums, row * columns);
  }
  return change;
}
