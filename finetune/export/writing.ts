/** Writes large files in parts, so other work gets its turn and the process can be stopped. */
import { mkdirSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { CommandContext } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { formatBytes } from '../../src/format/numbers.js';
import { createProgress, type ProgressMode } from '../../src/format/progress.js';

export interface WriteHooks {
  onBytes?(bytes: number): void;
  /** Once aborted, writing stops with the signal's reason, and the partial output is removed. */
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

/** @throws UserError if the disk doesn't have enough space */
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

/** Shows progress while writing a large file or directory, and stops on Ctrl-C. */
export function writingProgress(
  mode: ProgressMode,
  context: CommandContext,
): Required<MergeHooks> & { close(): void } {
  const progress = createProgress(mode, context);
  let written = 0;
  return {
    signal: context.stop.finish,
    onStart: (total) => progress.begin({ label: 'written', total, amount: formatBytes }),
    onBytes(bytes) {
      written += bytes;
      progress.update(written);
    },
    close: () => progress.close(),
  };
}
