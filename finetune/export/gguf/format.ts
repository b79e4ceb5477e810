/**
 * GGUF version 3, the file format of llama.cpp: `GGUF`, version, counts, metadata, what each tensor is and where it
 * lies, then the tensors, each at a multiple of 32 bytes. Everything is little-endian.
 */

/** A value of the metadata, by the format's type. */
export type GgufValue =
  | { readonly kind: 'uint32'; readonly value: number }
  | { readonly kind: 'float32'; readonly value: number }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'int32s'; readonly value: readonly number[] }
  | { readonly kind: 'float32s'; readonly value: readonly number[] };

/** In the order of the file. */
export type GgufMetadata = readonly (readonly [key: string, value: GgufValue])[];

/** The format's numbers for the tensor types that are written. */
const ggufTensorTypes = { F32: 0, F16: 1, Q8_0: 8, BF16: 30 } as const;
export type GgufTensorType = keyof typeof ggufTensorTypes;

export interface GgufTensor {
  readonly name: string;
  /** Rows first, as Hugging Face has it; the file has the reverse. */
  readonly shape: readonly number[];
  readonly type: GgufTensorType;
  readonly byteLength: number;
  /** The tensor's bytes in parts, asked for when it is its turn to be written. */
  parts(): Iterable<Uint8Array>;
}

const alignment = 32;
const valueTypes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;

const aligned = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** The bytes of a file, in order. */
export function* ggufParts(metadata: GgufMetadata, tensors: readonly GgufTensor[]): Generator<Uint8Array> {
  const head = ggufHead(metadata, tensors);
  yield head;
  yield new Uint8Array(aligned(head.length) - head.length);
  for (const { parts, byteLength } of tensors) {
    yield* parts();
    yield new Uint8Array(aligned(byteLength) - byteLength);
  }
}

/** Size of the data in bytes, without metadata. */
export function tensorBytes(tensors: readonly GgufTensor[]): number {
  return tensors.reduce((sum, { byteLength }) => sum + aligned(byteLength), 0);
}

function ggufHead(metadata: GgufMetadata, tensors: readonly GgufTensor[]): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(metadata.length)];
  for (const [key, value] of metadata) parts.push(text(key), encodeValue(value));
  let offset = 0;
  for (const { name, shape, type, byteLength } of tensors) {
    parts.push(text(name), uint32(shape.length), ...[...shape].reverse().map(uint64));
    parts.push(uint32(ggufTensorTypes[type]), uint64(offset));
    offset += aligned(byteLength);
  }
  return Buffer.concat(parts);
}

function encodeValue(item: GgufValue): Buffer {
  const typed = (type: keyof typeof valueTypes, bytes: Buffer) =>
    Buffer.concat([uint32(valueTypes[type]), bytes]);
  const array = (type: keyof typeof valueTypes, values: readonly Buffer[]) =>
    typed('array', Buffer.concat([uint32(valueTypes[type]), uint64(values.length), ...values]));
  switch (item.kind) {
    case 'uint32':
      return typed('uint32', uint32(item.value));
    case 'float32':
      return typed('float32', float32(item.value));
    case 'bool':
      return typed('bool', Buffer.of(item.value ? 1 : 0));
    case 'string':
      return typed('string', text(item.value));
    case 'strings':
      return array('string', item.value.map(text));
    case 'int32s':
      return array('int32', item.value.map(int32));
    case 'float32s':
      return array('float32', item.value.map(float32));
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

/** Length in bytes, then UTF-8. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}
