/** Little-endian bytes of numbers in the floating-point formats of stored weights, rounded to the nearest, ties to even. */
export function encodeFloats(values: Float32Array, dtype: string): Uint8Array {
  switch (dtype) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case 'BF16':
      return new Uint8Array(toBfloat16(values).buffer);
    case 'F16':
      return new Uint8Array(Uint16Array.from(values, halfBits).buffer);
    default:
      throw new Error(`weights can't be written as ${dtype}`);
  }
}

/** The upper halves of float32. */
function toBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(bits, (one, i) => {
    if (Number.isNaN(values[i])) return 0x7fc0;
    return (one + 0x7fff + ((one >>> 16) & 1)) >>> 16;
  });
}

/** IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. */
function halfBits(value: number): number {
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  // 65520 is the middle between the largest half and the next step.
  if (magnitude >= 65_520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude)));
  // Units of the last place; a carry out of the fraction raises the exponent by itself.
  const units = roundToEven(magnitude / 2 ** (exponent - 10));
  return sign | (magnitude < 2 ** -14 ? units : ((exponent + 14) << 10) + units);
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
