/** Weights in 4 or 8 bits (MatMulNBits): (q − 2^(bits−1))·scale, with a float32 scale per 32 or 128 weights. */
import type { StoredTensor } from './safetensors.js';

export type Bits = 4 | 8;

interface Rounding {
  readonly bits: Bits;
  readonly block: number;
}

/** Longer blocks are multiplied faster, but are less accurate. */
export const weightFormats = {
  int8: { bits: 8, block: 32 },
  int4: { bits: 4, block: 32 },
  'int4-block128': { bits: 4, block: 128 },
} as const satisfies Record<string, Rounding>;
export type WeightFormat = keyof typeof weightFormats;

/** `none` keeps the weights as stored, even if they are quantised; `float32` dequantises them. */
export const quantizations = ['none', 'int8', 'int4', 'int4-block128', 'float32'] as const;
export type Quantization = (typeof quantizations)[number];

export interface QuantizedRows {
  /** [rows, blocks, block·bits/8]; the first of two 4-bit weights is in the low half of their byte. */
  readonly codes: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
}

/**
 * Quantises rows in blocks. The weight with the largest magnitude in a block, unless it is 0, gets code 0, because the
 * range is one step longer on that side. A scale is then fitted by least squares. A row's last block is zero-padded.
 */
export function quantizeRows(rows: Float32Array, columns: number, { bits, block }: Rounding): QuantizedRows {
  const blocks = Math.ceil(columns / block);
  const scales = new Float32Array((rows.length / columns) * blocks);
  const codes = new Uint8Array(scales.length * block).fill(2 ** (bits - 1));
  for (let b = 0; b < scales.length; b++) {
    const column = (b % blocks) * block;
    const start = Math.floor(b / blocks) * columns + column;
    const end = start + Math.min(block, columns - column);
    scales[b] = quantizeBlock(rows, start, end, bits, codes, b * block);
  }
  return { codes: bits === 8 ? codes : packPairs(codes), scales };
}

/** Quantises one block and returns its scale. */
function quantizeBlock(
  weights: Float32Array,
  start: number,
  end: number,
  bits: Bits,
  codes: Uint8Array,
  at: number,
): number {
  const extreme = extremeOf(weights, start, end);
  if (extreme === 0) return 0;
  const middle = 1 << (bits - 1);
  const initialScale = -extreme / middle;
  let product = 0;
  let square = 0;
  for (let i = start; i < end; i++) {
    const weight = weights[i]!;
    // Truncating a positive number plus one half rounds it. Quotients of float32 numbers are never so close to
    // a half that the rounding of the sum matters.
    const code = Math.min((weight / initialScale + (middle + 0.5)) | 0, 2 * middle - 1);
    const level = code - middle;
    codes[at + i - start] = code;
    product += weight * level;
    square += level * level;
  }
  return Math.fround(product / square);
}

/** Returns the number with the largest magnitude; the first one if tied. */
function extremeOf(weights: Float32Array, start: number, end: number): number {
  let extreme = 0;
  let magnitude = 0;
  for (let i = start; i < end; i++) {
    const size = Math.abs(weights[i]!);
    if (size > magnitude) {
      magnitude = size;
      extreme = weights[i]!;
    }
  }
  return extreme;
}

/** Packs two 4-bit codes into each byte, the first of them in the low half. */
function packPairs(codes: Uint8Array): Uint8Array {
  const packed = new Uint8Array(codes.length / 2);
  for (let i = 0; i < packed.length; i++) packed[i] = codes[2 * i]! | (codes[2 * i + 1]! << 4);
  return packed;
}

export function toFloat32(bytes: Buffer, dtype: StoredTensor['dtype']): Float32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(bytes);
  if (dtype === 'F32') return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
  const halves = new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.length / 2);
  const result = new Float32Array(halves.length);
  if (dtype === 'BF16') {
    const bits = new Uint32Array(result.buffer);
    for (let i = 0; i < halves.length; i++) bits[i] = halves[i]! << 16;
  } else {
    for (let i = 0; i < halves.length; i++) result[i] = halfToFloat(halves[i]!);
  }
  return result;
}

/** A table of all half-precision values, because a lookup is ten times faster than the computation. */
let halfTable: Float32Array | undefined;

/** Returns the value of an IEEE 754 binary16 number, given its 16 bits. */
export function halfToFloat(half: number): number {
  halfTable ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => computeHalf(bits));
  return halfTable[half]!;
}

function computeHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
