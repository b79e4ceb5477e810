/** Writes large files part by part: others get their turn in between, and a stop is heard. */
import { mkdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { UserError } from '../src/errors.js';

export interface WriteHooks {
  /** Called after every part with the bytes that it had. */
  onBytes?(bytes: number): void;
  /** Once aborted, writing ends with the signal's reason, and what was written is removed. */
  readonly signal?: AbortSignal;
}

/** The file appears only once it is complete. */
export async function writeParts(
  file: string,
  parts: Iterable<Uint8Array>,
  { onBytes, signal }: WriteHooks = {},
): Promise<void> {
  const temporary = `${file}.partial`;
  const handle = await open(temporary, 'w');
  try {
    for (const bytes of parts) {
      signal?.throwIfAborted();
      for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
      onBytes?.(bytes.length);
    }
    await handle.sync();
    await handle.close();
  } catch (error) {
    await handle.close();
    rmSync(temporary, { force: true });
    throw error;
  }
  renameSync(temporary, file);
}

/**
 * Makes the folder of something that is about to be written.
 * @throws UserError when the disk has no room for it
 */
export function makeRoom(directory: string, bytes: number): void {
  mkdirSync(directory, { recursive: true });
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < bytes)
    throw new UserError({
      field: '--out',
      value: directory,
      message: `the disk has ${gigabytes(bavail * bsize)} left, and ${gigabytes(bytes)} are needed`,
      remedy: `make room, or name a place on another disk than that of ${path.resolve(directory)}`,
    });
}

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
