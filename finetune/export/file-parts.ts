/** Writes large files in parts, so other work gets its turn and the process can be stopped. */
import { mkdirSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { formatBytes } from '../../src/format/numbers.js';

export interface WriteHooks {
  /** Called after every part with its number of bytes. */
  onBytes?(bytes: number): void;
  /** Once aborted, writing stops with the signal's reason, and the partial output is removed. */
  readonly signal?: AbortSignal;
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

/**
 * Creates the directory of an output that is about to be written.
 * @throws UserError if the disk doesn't have enough space
 */
export function makeRoom(directory: string, bytes: number): void {
  mkdirSync(directory, { recursive: true });
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < bytes)
    throw new UserError({
      field: '--out',
      value: directory,
      message: `the disk has ${formatBytes(bavail * bsize)} left, and ${formatBytes(bytes)} are needed`,
      remedy: `make room, or name a place on another disk than that of ${path.resolve(directory)}`,
    });
}
