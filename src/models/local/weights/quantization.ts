/**
 * Weights in 4 or 8 bits: every run of 32 weights of a row shares one float32 scale. A weight is
 * (q − 2^(bits−1))·scale with an unsigned q, as the runtime's MatMulNBits wants it.
 */
import type { StoredTensor } from './safetensors.js';

/** Weights that share a scale. */
export const blockSize = 32;

export type Bits = 4 | 8;

/** What becomes of stored weights; `none` leaves them, blocks of codes included, and `float32` unpacks those. */
export const quantizations = ['none', 'int8', 'int4', 'float32'] as const;
export type Quantization = (typeof quantizations)[number];

export interface QuantizedRows {
  /** [rows, blocks, blockSize·bits/8]; of two 4-bit weights the earlier is in the low half. */
  readonly codes: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
  /** Sum of squares of the errors and of the weights. */
  readonly squaredError: number;
  readonly squaredWeight: number;
}

/**
 * @param weights [rows, columns]; a last, shorter block is padded with zeros
 */
export function quantizeRows(weights: Float32Array, columns: number, bits: Bits): QuantizedRows {
  const rows = weights.length / columns;
  const blocks = Math.ceil(columns / blockSize);
  const codes = new Uint8Array((rows * blocks * blockSize * bits) / 8);
  const scales = new Float32Array(rows * blocks);
  const block = new Int16Array(blockSize);
  const middle = 2 ** (bits - 1);
  let squaredError = 0;
  let squaredWeight = 0;
  for (let b = 0; b < scales.length; b++) {
    const start = Math.floor(b / blocks) * columns + (b % blocks) * blockSize;
    const length = Math.min(blockSize, columns - (b % blocks) * blockSize);
    const scale = quantizeBlock(weights, start, length, middle, block);
    scales[b] = scale;
    for (let i = 0; i < length; i++) {
      const weight = weights[start + i]!;
      const error = weight - (block[i]! - middle) * scale;
      squaredError += error * error;
      squaredWeight += weight * weight;
    }
    if (bits === 8) {
      for (let i = 0; i < blockSize; i++) codes[b * blockSize + i] = block[i]!;
    } else {
      const at = (b * blockSize) / 2;
      for (let i = 0; i < blockSize; i += 2) codes[at + i / 2] = block[i]! | (block[i + 1]! << 4);
    }
  }
  return { codes, scales, squaredError, squaredWeight };
}

/**
 * Codes of one block; returns its scale. The weight of largest magnitude gets the code 0, whose range reaches one
 * step further than the other end; then the scale is fitted to the codes by least squares.
 */
function quantizeBlock(
  weights: Float32Array,
  start: number,
  length: number,
  middle: number,
  codes: Int16Array,
): number {
  let extreme = 0;
  for (let i = start; i < start + length; i++)
    if (Math.abs(weights[i]!) > Math.abs(extreme)) extreme = weights[i]!;
  codes.fill(middle);
  if (extreme === 0) return 0;
  const first = -extreme / middle;
  let product = 0;
  let square = 0;
  for (let i = 0; i < length; i++) {
    const weight = weights[start + i]!;
    const level = Math.min(Math.round(weight / first), middle - 1);
    codes[i] = level + middle;
    product += weight * level;
    square += level * level;
  }
  return Math.fround(product / square);
}

/** Converts stored numbers to float32. */
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

/** IEEE 754 binary16. */
function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
