/** GGUF's quantised blocks: scale·(code − middle) + offset (llama.cpp's ggml-quants.c; d, m, dmin are float16). */
import { type Bits, halfToFloat } from './quantization.js';

/** Packing of values for quantised products in the runtime. */
export interface Packing {
  readonly bits: Bits;
  readonly block: 16 | 32 | 128;
  readonly hasOffset: boolean;
}

export interface BlockType {
  readonly dtype: string;
  readonly number: number;
  /** Number of values in a block, and size of the block in bytes. */
  readonly elements: number;
  readonly bytes: number;
  readonly packing?: Packing;
  /** Reads one block; present whenever `packing` is. */
  readonly unpack?: Unpack;
}

/** Reads the codes (one per byte), scales and offsets of the block that starts at `at`. */
type Unpack = (from: Buffer, at: number, to: UnpackedBlock) => void;

export interface UnpackedBlock {
  /** Unsigned codes, one per value; the middle, 2^(bits−1), represents 0 + offset. */
  readonly codes: Uint8Array;
  /** One scale per `packing.block` values. */
  readonly scales: Float32Array;
  readonly offsets: Float32Array;
}

const packingOf = (bits: Bits, block: 16 | 32, hasOffset = false): Packing => ({ bits, block, hasOffset });

/** Dtype, number in the format, values per block, bytes per block, packing and reader. */
const types: readonly (readonly [string, number, number, number, Packing?, Unpack?])[] = [
  ['F32', 0, 1, 4],
  ['F16', 1, 1, 2],
  ['BF16', 30, 1, 2],
  ['Q4_0', 2, 32, 18, packingOf(4, 32), q4_0],
  ['Q4_1', 3, 32, 20, packingOf(4, 32, true), q4_1],
  ['Q5_0', 6, 32, 22, packingOf(8, 32), q5_0],
  ['Q5_1', 7, 32, 24, packingOf(8, 32, true), q5_1],
  ['Q8_0', 8, 32, 34, packingOf(8, 32), q8_0],
  ['IQ4_NL', 20, 32, 18, packingOf(8, 32), iq4nl],
  ['Q2_K', 10, 256, 84, packingOf(4, 16, true), q2K],
  ['Q3_K', 11, 256, 110, packingOf(4, 16), q3K],
  ['Q4_K', 12, 256, 144, packingOf(4, 32, true), q4K],
  ['Q5_K', 13, 256, 176, packingOf(8, 32, true), q5K],
  ['Q6_K', 14, 256, 210, packingOf(8, 16), q6K],
  ['IQ4_XS', 23, 256, 136, packingOf(8, 32), iq4xs],
];
export const blockTypes: readonly BlockType[] = types.map(
  ([dtype, number, elements, bytes, packing, unpack]) => {
    return { dtype, number, elements, bytes, ...(packing && { packing }), ...(unpack && { unpack }) };
  },
);

const byDtype = new Map(blockTypes.map((type) => [type.dtype, type]));

/** Returns the layout of a dtype; undefined if it isn't a supported GGUF type. */
export const blockType = (dtype: string): BlockType | undefined => byDtype.get(dtype);

const readHalf = (bytes: Buffer, at: number): number => halfToFloat(bytes[at]! | (bytes[at + 1]! << 8));

/** Reads 32 codes from 16 bytes: the low halves are the first 16; the high halves are the last 16. */
function readNibbles(from: Buffer, at: number, codes: Uint8Array, add = 0): void {
  for (let i = 0; i < 16; i++) {
    const byte = from[at + i]!;
    codes[i] = (byte & 15) + add;
    codes[i + 16] = (byte >> 4) + add;
  }
}

function q4_0(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  scales[0] = readHalf(from, at);
  readNibbles(from, at + 2, codes);
}

function q4_1(from: Buffer, at: number, { codes, scales, offsets }: UnpackedBlock): void {
  const d = readHalf(from, at);
  scales[0] = d;
  offsets[0] = readHalf(from, at + 2) + 8 * d;
  readNibbles(from, at + 4, codes);
}

/** Reads 32 codes of five bits, whose fifth bits are stored in four separate bytes. */
function readFiveBits(from: Buffer, high: number, low: number, codes: Uint8Array): void {
  readNibbles(from, low, codes, 112);
  for (let i = 0; i < 32; i++) codes[i]! += ((from[high + (i >> 3)]! >> (i & 7)) & 1) << 4;
}

function q5_0(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  scales[0] = readHalf(from, at);
  readFiveBits(from, at + 2, at + 6, codes);
}

function q5_1(from: Buffer, at: number, { codes, scales, offsets }: UnpackedBlock): void {
  const d = readHalf(from, at);
  scales[0] = d;
  offsets[0] = readHalf(from, at + 2) + 16 * d;
  readFiveBits(from, at + 4, at + 8, codes);
}

function q8_0(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  scales[0] = readHalf(from, at);
  for (let i = 0; i < 32; i++) codes[i] = from[at + 2 + i]! ^ 128;
}

/** The levels of IQ4_NL and IQ4_XS, shifted by 128 to be positive. */
const nonLinearLevels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113].map(
  (v) => v + 128,
);

function readLevels(from: Buffer, at: number, codes: Uint8Array, first = 0): void {
  for (let i = 0; i < 16; i++) {
    const byte = from[at + i]!;
    codes[first + i] = nonLinearLevels[byte & 15]!;
    codes[first + i + 16] = nonLinearLevels[byte >> 4]!;
  }
}

function iq4nl(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  scales[0] = readHalf(from, at);
  readLevels(from, at + 2, codes);
}

/** Layout: d, 16 bits with the top two bits of eight scales, 4 bytes with their low four bits, 128 bytes of codes. */
function iq4xs(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  const d = readHalf(from, at);
  const high = from.readUInt16LE(at + 2);
  for (let j = 0; j < 8; j++) {
    const low = (from[at + 4 + (j >> 1)]! >> (4 * (j & 1))) & 15;
    scales[j] = d * ((low | (((high >> (2 * j)) & 3) << 4)) - 32);
    readLevels(from, at + 8 + 16 * j, codes, 32 * j);
  }
}

/** Reads the j-th of eight pairs of 6-bit scales and minima, packed in 12 bytes (Q4_K, Q5_K). */
function readSixBits(from: Buffer, at: number, j: number): readonly [scale: number, minimum: number] {
  const s = (i: number) => from[at + i]!;
  if (j < 4) return [s(j) & 63, s(j + 4) & 63];
  return [(s(j + 4) & 15) | ((s(j - 4) >> 6) << 4), (s(j + 4) >> 4) | ((s(j) >> 6) << 4)];
}

function q4K(from: Buffer, at: number, { codes, scales, offsets }: UnpackedBlock): void {
  const [d, dmin] = [readHalf(from, at), readHalf(from, at + 2)];
  for (let j = 0; j < 8; j++) {
    const [scale, minimum] = readSixBits(from, at + 4, j);
    scales[j] = d * scale;
    offsets[j] = 8 * d * scale - dmin * minimum;
    for (let l = 0; l < 32; l++)
      codes[32 * j + l] = (from[at + 16 + 32 * (j >> 1) + l]! >> (4 * (j & 1))) & 15;
  }
}

function q5K(from: Buffer, at: number, { codes, scales, offsets }: UnpackedBlock): void {
  const [d, dmin] = [readHalf(from, at), readHalf(from, at + 2)];
  for (let j = 0; j < 8; j++) {
    const [scale, minimum] = readSixBits(from, at + 4, j);
    scales[j] = d * scale;
    offsets[j] = 16 * d * scale - dmin * minimum;
    for (let l = 0; l < 32; l++) {
      const low = (from[at + 48 + 32 * (j >> 1) + l]! >> (4 * (j & 1))) & 15;
      codes[32 * j + l] = 112 + low + (((from[at + 16 + l]! >> j) & 1) << 4);
    }
  }
}

function q6K(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  const d = readHalf(from, at + 208);
  for (let i = 0; i < 16; i++) scales[i] = d * from.readInt8(at + 192 + i);
  for (let i = 0; i < 256; i++) {
    const [h, k, l] = [i >> 7, (i & 127) >> 5, i & 31];
    const low = (from[at + 64 * h + l + 32 * (k & 1)]! >> (4 * (k >> 1))) & 15;
    const high = (from[at + 128 + 32 * h + l]! >> (2 * k)) & 3;
    codes[i] = (low | (high << 4)) + 96;
  }
}

function q2K(from: Buffer, at: number, { codes, scales, offsets }: UnpackedBlock): void {
  const [d, dmin] = [readHalf(from, at + 80), readHalf(from, at + 82)];
  for (let j = 0; j < 16; j++) {
    scales[j] = d * (from[at + j]! & 15);
    offsets[j] = 2 * scales[j]! - dmin * (from[at + j]! >> 4);
  }
  for (let i = 0; i < 256; i++) codes[i] = 6 + readTwoBits(from, at + 16, i);
}

function q3K(from: Buffer, at: number, { codes, scales }: UnpackedBlock): void {
  const d = readHalf(from, at + 108);
  for (let j = 0; j < 16; j++) {
    const low = (from[at + 96 + (j & 7)]! >> (4 * (j >> 3))) & 15;
    const high = (from[at + 104 + (j & 3)]! >> (2 * (j >> 2))) & 3;
    scales[j] = d * ((low | (high << 4)) - 32);
  }
  for (let i = 0; i < 256; i++) {
    const bit = (from[at + (i & 31)]! >> (i >> 5)) & 1;
    codes[i] = readTwoBits(from, at + 32, i) + (bit ? 8 : 4);
  }
}

function readTwoBits(from: Buffer, at: number, i: number): number {
  const [h, k, l] = [i >> 7, (i & 127) >> 5, i & 31];
  return (from[at + 32 * h + l]! >> (2 * k)) & 3;
}
