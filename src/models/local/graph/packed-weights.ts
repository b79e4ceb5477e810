/** Matrices as 4- or 8-bit codes in the runtime's layout, rounded or converted from GGUF blocks, and cached on disk. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { blockType, type Packing } from '../weights/gguf-blocks.js';
import { quantizeRows, toFloat32, type WeightFormat, weightFormats } from '../weights/quantization.js';
import { emptyBlock, readRows, rowOrder } from '../weights/rows.js';
import {
  readSafetensors,
  readTensorBytes,
  type StoredTensor,
  type StoredTensors,
} from '../weights/safetensors.js';
import { ensureCachedFile } from './weight-cache.js';

/** Must change whenever the same weights would get different codes. */
const formatVersion = 2;

/** One matrix: value = scale·(code − 2^(bits−1)) + offset, with one scale (and offset, if any) per block of a row. */
export interface PackedMatrix extends Packing {
  readonly rows: number;
  readonly columns: number;
  /** uint8 [rows, blocks, block·bits/8]; the low half of a byte holds the earlier of two 4-bit codes. */
  readonly codes: StoredTensor;
  /** float32 [rows, blocks] */
  readonly scales: StoredTensor;
  /** float32 [rows, blocks] */
  readonly offsets?: StoredTensor;
}

export interface PackedWeights {
  readonly file: string;
  /** Packed matrices by the name of the tensor that each replaces. */
  readonly matrices: ReadonlyMap<string, PackedMatrix>;
  /** The type to which the weights were rounded; undefined for a file's own blocks. */
  readonly format: WeightFormat | undefined;
}

/** Rounds matrices to codes, which are cached on disk. @throws UserError if they can't be written */
export function quantize(
  model: string,
  matrices: readonly StoredTensor[],
  format: WeightFormat,
): PackedWeights {
  const { bits, block } = weightFormats[format];
  const packing = { bits, block, hasOffset: false } as const;
  return { ...pack(model, `int${bits}-block${block}`, matrices, () => packing), format };
}

export function packBlocks(model: string, matrices: readonly StoredTensor[]): PackedWeights {
  return { ...pack(model, 'blocks', matrices, ({ dtype }) => blockType(dtype)!.packing!), format: undefined };
}

export const isPacked = ({ dtype }: StoredTensor): boolean => blockType(dtype)?.packing !== undefined;

/** Reads rows of a packed matrix as float32: [count, columns]. */
export function readPackedRows(matrix: PackedMatrix, from: number, count: number): Float32Array {
  const { rows, columns, bits, block } = matrix;
  const part = (tensor: StoredTensor) => {
    const rowBytes = tensor.length / rows;
    return readTensorBytes(tensor, from * rowBytes, count * rowBytes);
  };
  const codes = part(matrix.codes);
  const scales = toFloat32(part(matrix.scales), 'F32');
  const offsets = matrix.offsets && toFloat32(part(matrix.offsets), 'F32');
  const blocks = Math.ceil(columns / block);
  const values = new Float32Array(count * columns);
  const middle = 2 ** (bits - 1);
  for (let b = 0; b < count * blocks; b++) {
    const column = (b % blocks) * block;
    const at = Math.floor(b / blocks) * columns + column;
    const scale = scales[b]!;
    const offset = offsets?.[b] ?? 0;
    for (let i = 0; i < Math.min(block, columns - column); i++) {
      const index = b * block + i;
      const code = bits === 8 ? codes[index]! : (codes[index >> 1]! >> (4 * (index & 1))) & 15;
      values[at + i] = (code - middle) * scale + offset;
    }
  }
  return values;
}

function pack(
  model: string,
  kind: string,
  matrices: readonly StoredTensor[],
  packingOf: (tensor: StoredTensor) => Packing,
): Omit<PackedWeights, 'format'> {
  const { layout, bytes } = layoutOf(matrices, packingOf);
  const file = ensureCachedFile(model, kind, formatVersion, matrices, bytes, (path) => write(path, layout));
  const tensorsByName = new Map(readSafetensors(file).tensors.map((tensor) => [tensor.name, tensor]));
  const packedMatrices = layout.map(
    ({ tensor, packing }) => [tensor.name, matrixOf(tensor, packing, tensorsByName)] as const,
  );
  return { file, matrices: new Map(packedMatrices) };
}

function matrixOf(tensor: StoredTensor, packing: Packing, stored: StoredTensors): PackedMatrix {
  const [rows, columns] = tensor.shape as [number, number];
  const part = (name: MatrixPart) => stored.get(`${tensor.name}.${name}`)!;
  return {
    ...packing,
    rows,
    columns,
    codes: part('codes'),
    scales: part('scales'),
    ...(packing.hasOffset && { offsets: part('offsets') }),
  };
}

const parts = ['codes', 'scales', 'offsets'] as const;
type MatrixPart = (typeof parts)[number];
type PartSizes = Record<MatrixPart, number>;

interface MatrixLayout {
  readonly tensor: StoredTensor;
  readonly packing: Packing;
  readonly blocks: number;
  /** Bytes per row of codes, scales and offsets (0 if the packing has none), and each part's start in the data. */
  readonly rowBytes: Readonly<PartSizes>;
  readonly starts: PartSizes;
}

function layoutOf(matrices: readonly StoredTensor[], packingOf: (tensor: StoredTensor) => Packing) {
  const layout = matrices.map((tensor): MatrixLayout => {
    const packing = packingOf(tensor);
    const blocks = Math.ceil(tensor.shape[1]! / packing.block);
    const codeBytes = (blocks * packing.block * packing.bits) / 8;
    const rowBytes = { codes: codeBytes, scales: 4 * blocks, offsets: packing.hasOffset ? 4 * blocks : 0 };
    return { tensor, packing, blocks, rowBytes, starts: { codes: 0, scales: 0, offsets: 0 } };
  });
  let bytes = 0;
  // Parts of one kind are adjacent, so matrices that multiply the same x form one range of the file.
  for (const part of parts)
    for (const { rowBytes, starts, tensor } of layout) {
      starts[part] = bytes;
      bytes += tensor.shape[0]! * rowBytes[part];
    }
  return { layout, bytes };
}

function headerOf(layout: readonly MatrixLayout[]): Uint8Array {
  const entries = layout.flatMap(({ blocks, rowBytes, starts, tensor }) => {
    const rows = tensor.shape[0]!;
    return parts
      .filter((part) => rowBytes[part] > 0)
      .map((part) => {
        const [dtype, shape] =
          part === 'codes' ? ['U8', [rows, blocks, rowBytes.codes / blocks]] : ['F32', [rows, blocks]];
        const data_offsets = [starts[part], starts[part] + rows * rowBytes[part]];
        return [`${tensor.name}.${part}`, { dtype, shape, data_offsets }] as const;
      });
  });
  const json = JSON.stringify(Object.fromEntries(entries));
  // The runtime maps the file, so the data starts at a multiple of 8 bytes.
  const text = Buffer.from(json.padEnd(8 * Math.ceil(json.length / 8)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text]);
}

/** About this many bytes of a matrix are read and packed at a time. */
const chunkBytes = 1 << 24;

function write(file: string, layout: readonly MatrixLayout[]): void {
  const temporary = `${file}.${process.pid}.tmp`;
  const descriptor = openSync(temporary, 'w');
  try {
    const header = headerOf(layout);
    writeAll(descriptor, header, 0);
    for (const matrixLayout of layout) {
      const { rowBytes, starts, tensor } = matrixLayout;
      const rows = tensor.shape[0]!;
      const headRows = tensor.interleaved ?? 1;
      const step = Math.max(1, Math.floor(chunkBytes / (tensor.length / rows) / headRows)) * headRows;
      for (let row = 0; row < rows; row += step) {
        const packed = packRows(matrixLayout, row, Math.min(step, rows - row));
        for (const part of parts.filter((name) => rowBytes[name] > 0))
          writeAll(descriptor, bytesOf(packed[part]!), header.length + starts[part] + row * rowBytes[part]);
      }
    }
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function packRows({ tensor, packing }: MatrixLayout, row: number, count: number): PackedRows {
  return isPacked(tensor)
    ? repackRows(tensor, row, count)
    : quantizeRows(readRows(tensor, row, count), tensor.shape[1]!, packing);
}

interface PackedRows {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly offsets?: Float32Array;
}

/** Converts rows of blocks to the runtime's layout without changing values. Interleaved rows must form whole heads. */
function repackRows(tensor: StoredTensor, from: number, count: number): PackedRows {
  const { bytes: blockBytes, elements, packing, unpack } = blockType(tensor.dtype)!;
  const { bits, block } = packing!;
  const columns = tensor.shape[1]!;
  const rowBytes = (columns / elements) * blockBytes;
  const bytes = readTensorBytes(tensor, from * rowBytes, count * rowBytes);
  const order = rowOrder(tensor);
  const rowSizes = { codes: (columns * bits) / 8, scales: columns / block };
  const result = {
    codes: new Uint8Array(count * rowSizes.codes),
    scales: new Float32Array(count * rowSizes.scales),
    offsets: new Float32Array(count * rowSizes.scales),
  };
  const unpacked = emptyBlock(elements, block);
  for (let row = 0; row < count; row++) {
    const storedRow = order === undefined ? row : order[from + row]! - from;
    for (let b = 0; b < columns / elements; b++) {
      unpack!(bytes, storedRow * rowBytes + b * blockBytes, unpacked);
      const at = row * rowSizes.scales + (b * elements) / block;
      result.scales.set(unpacked.scales, at);
      if (packing!.hasOffset) result.offsets.set(unpacked.offsets, at);
      const start = row * rowSizes.codes + (b * elements * bits) / 8;
      if (bits === 8) result.codes.set(unpacked.codes, start);
      else
        for (let i = 0; i < elements; i += 2)
          result.codes[start + i / 2] = unpacked.codes[i]! | (unpacked.codes[i + 1]! << 4);
    }
  }
  return result;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Float32Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  let written = 0;
  while (written < bytes.length)
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
}
