/**
 * Writes fields of protocol buffers (https://protobuf.dev/programming-guides/encoding). A message is the
 * concatenation of its fields; `nested` writes a message or bytes.
 */

/** @param value a safe integer; negative ones are written as 64-bit two's complement */
export function integer(field: number, value: number): Buffer {
  return Buffer.from([...varint(field << 3), ...varint(value)]);
}

export function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, 1), bytes]);
}

export function nested(field: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([tag(field, 2), Buffer.from(varint(length)), ...parts]);
}

export function text(field: number, value: string): Buffer {
  return nested(field, Buffer.from(value));
}

/** Single precision. */
export function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([tag(field, 5), bytes]);
}

function tag(field: number, wireType: number): Buffer {
  return Buffer.from(varint((field << 3) | wireType));
}

/** Seven bits per byte, lowest first; the eighth bit says that more follow. */
function varint(value: number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}
