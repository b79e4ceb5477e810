/** Writes safetensors files: header length (u64, little-endian), JSON header, then the tensors' bytes in order. */
import { replaceFile } from '../../src/base/files/files.js';
import type { ParameterShape } from './trainable.js';
import type { FloatArray } from './training-session.js';

export interface TensorToWrite extends ParameterShape {
  /** Type name in the file's header: `F32`, `BF16`, … */
  readonly dtype: string;
  readonly byteLength: number;
  /** The tensor's bytes in parts, each produced when it is written. */
  chunks(): Iterable<Uint8Array>;
}

export function tensorOf({ name, shape }: ParameterShape, values: FloatArray): TensorToWrite {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const dtype = values instanceof Float32Array ? 'F32' : 'F64';
  return { name, shape, dtype, byteLength: bytes.length, chunks: () => [bytes] };
}

export function* safetensorsParts(
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>> = {},
): Generator<Uint8Array> {
  const header: Record<string, unknown> = Object.keys(metadata).length > 0 ? { __metadata__: metadata } : {};
  let offset = 0;
  for (const { name, dtype, shape, byteLength } of tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + byteLength] };
    offset += byteLength;
  }
  // Pad the header so that the data starts at a multiple of 8 bytes, because readers memory-map the file.
  const json = Buffer.from(JSON.stringify(header));
  const paddedJson = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(paddedJson.length));
  yield Buffer.concat([length, paddedJson]);
  for (const { chunks } of tensors) yield* chunks();
}

/** Writes to a temporary file and renames it, so the file appears only when it is complete. */
export function writeSafetensors(
  file: string,
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>> = {},
): void {
  replaceFile(file, safetensorsParts(tensors, metadata));
}
