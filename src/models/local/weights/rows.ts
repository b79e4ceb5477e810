/** Rows of a stored matrix as float32, regardless of the file format. */
import { blockType, type UnpackedBlock } from './gguf-blocks.js';
import { toFloat32 } from './quantization.js';
import { readTensorBytes, type StoredTensor } from './safetensors.js';

/** Returns [count, columns] in Hugging Face's order, starting at row `from` (for a vector, at value `from`). */
export function readRows(tensor: StoredTensor, from = 0, count = rowCount(tensor) - from): Float32Array {
  if (tensor.transposed) return transpose(tensor, from, count);
  const rows = rowCount(tensor);
  const rowBytes = tensor.length / rows;
  if (tensor.interleaved === undefined) return readDecoded(tensor, from * rowBytes, count * rowBytes);
  const columns = tensor.shape.slice(1).reduce((product, size) => product * size, 1);
  const result = new Float32Array(count * columns);
  const order = rowOrder(tensor)!;
  // Reads whole heads, because adjacent rows in one order aren't adjacent in the other.
  const headRows = tensor.interleaved;
  for (let first = from - (from % headRows); first < from + count; first += headRows) {
    const values = readDecoded(tensor, first * rowBytes, Math.min(headRows, rows - first) * rowBytes);
    for (let row = Math.max(first, from); row < Math.min(first + headRows, from + count); row++) {
      const at = order[row]! - first;
      result.set(values.subarray(at * columns, (at + 1) * columns), (row - from) * columns);
    }
  }
  return result;
}

function transpose({ transposed: _, ...tensor }: StoredTensor, from: number, count: number): Float32Array {
  const [rows, columns] = tensor.shape as [number, number];
  const values = readRows({ ...tensor, shape: [columns, rows] });
  return Float32Array.from(
    { length: count * columns },
    (_, i) => values[(i % columns) * rows + from + Math.floor(i / columns)]!,
  );
}

/** Returns, for each row in Hugging Face's order, its index in the file; undefined if both orders are the same. */
export function rowOrder({ shape, interleaved }: StoredTensor): readonly number[] | undefined {
  if (interleaved === undefined) return undefined;
  const half = interleaved / 2;
  return Array.from({ length: shape[0]! }, (_, row) => {
    const offset = row % interleaved;
    return row - offset + (offset < half ? 2 * offset : 2 * (offset - half) + 1);
  });
}

const readDecoded = (tensor: StoredTensor, start: number, length: number): Float32Array =>
  decodeWeights(readTensorBytes(tensor, start, length), tensor.dtype);

/** Decodes stored weights; if the dtype has blocks, `bytes` must contain whole blocks. */
export function decodeWeights(bytes: Buffer, dtype: StoredTensor['dtype']): Float32Array {
  const type = blockType(dtype);
  if (type?.unpack === undefined) return toFloat32(bytes, dtype);
  const { elements, packing, unpack } = type;
  const { bits, block } = packing!;
  const middle = 2 ** (bits - 1);
  const blocks = bytes.length / type.bytes;
  const values = new Float32Array(blocks * elements);
  const unpacked = emptyBlock(elements, block);
  for (let b = 0; b < blocks; b++) {
    unpack(bytes, b * type.bytes, unpacked);
    for (let i = 0; i < elements; i++) {
      const blockIndex = Math.floor(i / block);
      const value = unpacked.scales[blockIndex]! * (unpacked.codes[i]! - middle);
      values[b * elements + i] = packing!.hasOffset ? value + unpacked.offsets[blockIndex]! : value;
    }
  }
  return values;
}

export const emptyBlock = (elements: number, block: number): UnpackedBlock => ({
  codes: new Uint8Array(elements),
  scales: new Float32Array(elements / block),
  offsets: new Float32Array(elements / block),
});

const rowCount = ({ shape }: StoredTensor) => shape[0] ?? 1;
