/** Writes large files in parts, so that other work can run and Ctrl-C can stop the writing. */
import { open } from 'node:fs/promises';
import type { CommandContext } from '../../../src/base/context.js';
import { formatBytes } from '../../../src/base/text/numbers.js';
import { createProgress, type ProgressMode } from '../../../src/base/text/progress.js';
import { readTensorBytes, type StoredTensor } from '../../../src/models/local/weights/safetensors.js';

export interface WriteHooks {
  onBytes?(bytes: number): void;
  /** When it aborts, writing stops with the signal's reason, and the partial output is removed. */
  readonly signal?: AbortSignal;
}

export interface MergeHooks extends WriteHooks {
  onStart?(bytes: number): void;
}

/** Writes a file in parts. A failure leaves an incomplete file; see `writeWhole`. */
export async function writeParts(
  file: string,
  parts: Iterable<Uint8Array>,
  { onBytes, signal }: WriteHooks = {},
): Promise<void> {
  const handle = await open(file, 'w');
  try {
    for (const bytes of parts) {
      signal?.throwIfAborted();
      for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
      onBytes?.(bytes.length);
    }
  } finally {
    await handle.close();
  }
}

/** Runs `write` and shows its progress; returns undefined if Ctrl-C stopped it. */
export async function stoppable<T>(
  mode: ProgressMode,
  context: CommandContext,
  write: (hooks: MergeHooks) => Promise<T>,
): Promise<T | undefined> {
  const progress = createProgress(mode, context);
  const signal = context.stop.finish;
  let written = 0;
  try {
    return await write({
      signal,
      onStart: (total) => progress.begin({ label: 'written', total, amount: formatBytes }),
      onBytes(bytes) {
        written += bytes;
        progress.update(written);
      },
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    context.note('nothing was written');
    return undefined;
  } finally {
    progress.close();
  }
}

const chunkBytes = 1 << 22;

export function* storedBytes(tensor: StoredTensor): Iterable<Uint8Array> {
  for (let start = 0; start < tensor.length; start += chunkBytes)
    yield readTensorBytes(tensor, start, Math.min(chunkBytes, tensor.length - start));
}
