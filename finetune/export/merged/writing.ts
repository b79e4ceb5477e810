/** Writes large files in parts, so that other work can run and Ctrl-C can stop the writing. */
import { open } from 'node:fs/promises';
import { readTensorBytes, type StoredTensor } from '../../../src/models/local/weights/safetensors.js';
import type { TensorToWrite } from '../../engine/safetensors-writer.js';

/** A failure leaves an incomplete file; see `writeAtomic`. @throws the signal's reason once it aborts */
export async function writeParts(
  file: string,
  parts: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (const bytes of parts) {
      signal?.throwIfAborted();
      for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
    }
  } finally {
    await handle.close();
  }
}

const chunkBytes = 1 << 22;

/** Describes a tensor to copy exactly as it is stored. */
export const copyTensor = (tensor: StoredTensor): TensorToWrite => ({
  name: tensor.name,
  shape: tensor.shape,
  dtype: tensor.dtype,
  byteLength: tensor.length,
  chunks: () => storedBytes(tensor),
});

function* storedBytes(tensor: StoredTensor): Iterable<Uint8Array> {
  for (let start = 0; start < tensor.length; start += chunkBytes)
    yield readTensorBytes(tensor, start, Math.min(chunkBytes, tensor.length - start));
}
