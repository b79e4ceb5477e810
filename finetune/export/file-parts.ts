/** Writes large files part by part: others get their turn in between, and a stop is heard. */
import { existsSync, mkdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { UserError } from '../../src/errors.js';
import { formatBytes } from '../../src/format/numbers.js';
import { lockRun } from '../../src/storage/lock.js';

export interface WriteHooks {
  /** Called after every part with the bytes that it had. */
  onBytes?(bytes: number): void;
  /** Once aborted, writing ends with the signal's reason, and what was written is removed. */
  readonly signal?: AbortSignal;
}

/** What is being written, under a name of its own: half of it is never taken for the whole. */
export interface Partial {
  readonly path: string;
  /** Gives it the name that it is written for. */
  finish(): void;
  /** Removes it. */
  abandon(): void;
}

/**
 * Makes this process the one that writes `output`. What another one left of it that was cut off is removed.
 * @throws UserError while another process writes it, or when something else has the name that it would have till then
 */
export function claim(output: string): Partial {
  const partial = `${output}.partial`;
  mkdirSync(path.dirname(partial), { recursive: true });
  const lock = `${partial}.lock`;
  const cutOff = existsSync(lock);
  const release = lockRun(lock);
  if (existsSync(partial) && !cutOff) {
    release();
    throw new UserError({
      field: '--out',
      value: output,
      message: `what is written has the name ${partial} until it is complete, and something else has it`,
      remedy: 'move that away, or name another place',
    });
  }
  const abandon = () => {
    rmSync(partial, { recursive: true, force: true });
    release();
  };
  rmSync(partial, { recursive: true, force: true });
  return {
    path: partial,
    finish() {
      renameSync(partial, output);
      release();
    },
    abandon,
  };
}

/** The file appears only once it is complete. */
export async function writeParts(
  file: string,
  parts: Iterable<Uint8Array>,
  { onBytes, signal }: WriteHooks = {},
): Promise<void> {
  const partial = claim(file);
  try {
    const handle = await open(partial.path, 'w');
    try {
      for (const bytes of parts) {
        signal?.throwIfAborted();
        for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
        onBytes?.(bytes.length);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    partial.abandon();
    throw error;
  }
  partial.finish();
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
      message: `the disk has ${formatBytes(bavail * bsize)} left, and ${formatBytes(bytes)} are needed`,
      remedy: `make room, or name a place on another disk than that of ${path.resolve(directory)}`,
    });
}
