/** Little-endian bytes of numbers in the floating-point formats of stored weights, rounded to the nearest, ties to even. */
export function encodeFloats(values: Float32Array, dtype: string): Uint8Array {
  switch (dtype) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case 'BF16':
      return new Uint8Array(toBfloat16(values).buffer);
    case 'F16':
      return new Uint8Array(toFloat16(values).buffer);
    default:
      throw new Error(`weights can't be written as ${dtype}`);
  }
}

/** The upper halves of float32. */
function toBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const one = bits[i]!;
    halves[i] = (one & 0x7fff_ffff) > 0x7f80_0000 ? 0x7fc0 : (one + 0x7fff + ((one >>> 16) & 1)) >>> 16;
  }
  return halves;
}

/** IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. */
export function toFloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const one = bits[i]!;
    halves[i] = ((one >>> 16) & 0x8000) | halfMagnitude(one & 0x7fff_ffff, values[i]!);
  }
  return halves;
}

const sum = new Float32Array(1);
const sumBits = new Uint32Array(sum.buffer);

/** @param bits of the magnitude in float32 */
function halfMagnitude(bits: number, value: number): number {
  if (bits > 0x7f80_0000) return 0x7e00;
  // 65520 is the middle between the largest half and the next step.
  if (bits >= 0x477f_f000) return 0x7c00;
  // 2^-14 is the least normal half; the exponent's offset falls from 127 to 15, the fraction from 23 to 10 bits.
  if (bits >= 0x3880_0000) return (bits - 0x3800_0000 + 0xfff + ((bits >>> 13) & 1)) >>> 13;
  // Between 0.5 and 1 float32 has steps of 2^-24, as halves have below 2^-14.
  sum[0] = Math.abs(value) + 0.5;
  return sumBits[0]! - 0x3f00_0000;
}

/** Numbers that share a scale in llama.cpp's Q8_0. */
export const q8Block = 32;

/**
 * llama.cpp's Q8_0: of every 32 numbers a float16 scale, the largest magnitude over 127, and 32 signed bytes, rounded
 * half away from zero. All in float32, as there.
 * @param values a multiple of 32
 */
export function encodeQ8(values: Float32Array): Uint8Array {
  const blocks = values.length / q8Block;
  const scales = new Float32Array(blocks);
  const bytes = new Int8Array(blocks * (2 + q8Block));
  for (let b = 0; b < blocks; b++) {
    let largest = 0;
    for (let i = 0; i < q8Block; i++) largest = Math.max(largest, Math.abs(values[b * q8Block + i]!));
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    scales[b] = scale;
    for (let i = 0; i < q8Block; i++) {
      const steps = Math.fround(values[b * q8Block + i]! * inverse);
      bytes[b * (2 + q8Block) + 2 + i] = Math.sign(steps) * Math.floor(Math.abs(steps) + 0.5);
    }
  }
  const halves = new Int8Array(toFloat16(scales).buffer);
  for (let b = 0; b < blocks; b++) bytes.set(halves.subarray(2 * b, 2 * b + 2), b * (2 + q8Block));
  return new Uint8Array(bytes.buffer);
}
