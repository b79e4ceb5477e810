/** Writes GGUF version 3, little-endian: counts, metadata, tensor descriptions, tensors aligned to 32 bytes. */
import { append } from '../../../src/base/append.js';
import { blockType } from '../../../src/models/local/weights/gguf-blocks.js';
import type { TensorToWrite } from '../../engine/safetensors-writer.js';

/** Entries in the order of the file; encode values with `ggufValue`. */
export type GgufMetadata = readonly (readonly [key: string, value: Buffer])[];

export type GgufTensorType = 'F32' | 'F16' | 'BF16' | 'Q8_0';

const alignment = 32;
const align = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** @param tensors each `dtype` must be that of one of the `blockTypes` */
export function* ggufParts(metadata: GgufMetadata, tensors: readonly TensorToWrite[]): Generator<Uint8Array> {
  const head = ggufHeader(metadata, tensors);
  yield head;
  yield new Uint8Array(align(head.length) - head.length);
  for (const { chunks, byteLength } of tensors) {
    yield* chunks();
    yield new Uint8Array(align(byteLength) - byteLength);
  }
}

/** Size of all tensors in bytes, with padding but without metadata. */
export function tensorBytes(tensors: readonly TensorToWrite[]): number {
  return tensors.reduce((sum, { byteLength }) => sum + align(byteLength), 0);
}

function ggufHeader(metadata: GgufMetadata, tensors: readonly TensorToWrite[]): Buffer {
  const parts = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(metadata.length)];
  for (const [key, value] of metadata) parts.push(encodeText(key), value);
  let offset = 0;
  for (const { name, shape, dtype, byteLength } of tensors) {
    append(parts, [encodeText(name), uint32(shape.length), ...[...shape].reverse().map(uint64)]);
    parts.push(uint32(blockType(dtype)!.number), uint64(offset));
    offset += align(byteLength);
  }
  return Buffer.concat(parts);
}

/** Encodes metadata values: the type's number, then the bytes. */
export const ggufValue = {
  uint32: (value: number) => typedValue(4, uint32(value)),
  float32: (value: number) => typedValue(6, float32(value)),
  bool: (value: boolean) => typedValue(7, Buffer.of(value ? 1 : 0)),
  string: (value: string) => typedValue(8, encodeText(value)),
  int32s: (values: readonly number[]) => array(5, values.map(int32)),
  float32s: (values: readonly number[]) => array(6, values.map(float32)),
  strings: (values: readonly string[]) => array(8, values.map(encodeText)),
};

const typedValue = (type: number, bytes: Buffer) => Buffer.concat([uint32(type), bytes]);
const array = (type: number, values: readonly Buffer[]) =>
  typedValue(9, Buffer.concat([uint32(type), uint64(values.length), ...values]));

function encodeNumber(size: number, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(size);
  write(bytes);
  return bytes;
}

const uint32 = (value: number) => encodeNumber(4, (bytes) => bytes.writeUInt32LE(value));
const int32 = (value: number) => encodeNumber(4, (bytes) => bytes.writeInt32LE(value));
const uint64 = (value: number) => encodeNumber(8, (bytes) => bytes.writeBigUInt64LE(BigInt(value)));
const float32 = (value: number) => encodeNumber(4, (bytes) => bytes.writeFloatLE(value));

/** Encodes a string: length in bytes, then UTF-8. */
function encodeText(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}
