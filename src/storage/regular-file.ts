/** Files from outside, read only where they are regular files of a bounded size: a device never ends, a pipe never begins. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { UserError } from '../base/errors.js';

/**
 * Opens a file to read it. Links are followed.
 * @returns a descriptor, for the caller to close, and the size in bytes
 * @throws UserError for what is no regular file; what the system says where there is none
 */
export function openRegularFile(path: string): { readonly descriptor: number; readonly size: number } {
  // A pipe that nobody writes to would be waited for while it is opened.
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  const stats = fstatSync(descriptor);
  if (stats.isFile()) return { descriptor, size: stats.size };
  closeSync(descriptor);
  const message = `is ${stats.isDirectory() ? 'a folder' : 'a device, pipe or socket'}, not a regular file`;
  throw new UserError({ file: path, message });
}

/**
 * @param mostBytes above which it is refused
 * @throws UserError for what is no regular file or too large; what the system says where there is none
 */
export function readRegularFile(path: string, mostBytes: number): Buffer {
  const { descriptor, size } = openRegularFile(path);
  try {
    if (size > mostBytes) throw tooLarge(path, size, mostBytes);
    const bytes = readBytes(descriptor, 0, size);
    // Files of /proc say that they are empty.
    if (readSync(descriptor, Buffer.alloc(1), 0, 1, size) > 0) throw tooLarge(path, size + 1, size);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** Reads from a position; less where the file ends before. */
export function readBytes(descriptor: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const read = readSync(descriptor, buffer, filled, length - filled, position + filled);
    if (read === 0) return buffer.subarray(0, filled);
    filled += read;
  }
  return buffer;
}

function tooLarge(file: string, size: number, most: number): UserError {
  return new UserError({ file, message: `has ${size} bytes or more, and may have ${most}` });
}
