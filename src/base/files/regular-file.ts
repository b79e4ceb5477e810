/** Reads untrusted files only if they are regular files of limited size: devices never end, and pipes block. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Problem, UserError } from '../errors.js';

/**
 * Models and datasets may be links into a cache. Files of a run must not be: runs may come from other people,
 * and a link could expose files outside the run.
 */
export type SymlinkMode = 'follow' | 'reject';

/**
 * @returns a descriptor, which the caller must close, and the size in bytes
 * @throws UserError for anything but a regular file; the system's error if it doesn't exist
 */
export function openRegularFile(
  path: string,
  symlinks: SymlinkMode = 'follow',
): { readonly descriptor: number; readonly size: number } {
  const errorFor = (kind: string) =>
    new UserError({
      file: path,
      message: `is ${kind}, not a regular file`,
      hint: 'use a regular file in its place',
    });
  if (symlinks === 'reject' && lstatSync(path).isSymbolicLink()) throw errorFor('a link');
  const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK | (symlinks === 'reject' ? O_NOFOLLOW : 0));
  const stats = fstatSync(descriptor);
  if (stats.isFile()) return { descriptor, size: stats.size };
  closeSync(descriptor);
  throw errorFor(stats.isDirectory() ? 'a folder' : 'a device, pipe or socket');
}

/**
 * @param maxBytes larger files are rejected
 * @throws UserError for anything but a regular file, or if it is too large; the system's error if it doesn't exist
 */
export function readRegularFile(path: string, maxBytes: number, symlinks: SymlinkMode = 'follow'): Buffer {
  const { descriptor, size } = openRegularFile(path, symlinks);
  try {
    if (size > maxBytes) throw tooLargeError(path, size, maxBytes);
    const bytes = readBytes(descriptor, 0, size);
    // Files in /proc report a size of 0 but aren't empty.
    if (readSync(descriptor, Buffer.alloc(1), 0, 1, size) > 0)
      throw new UserError({ file: path, message: 'is larger than its reported size; it may be growing' });
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** Maximum size in bytes of a text file of a run, other than logs and JSON. */
const maxTextBytes = 64 * 2 ** 20;

/**
 * The text of a file of a run, study or training run.
 * @throws UserError if it isn't a regular file (a link isn't one), or is larger than 64 MiB
 */
export const readOwnText = (path: string): string =>
  readRegularFile(path, maxTextBytes, 'reject').toString('utf8');

/** Reads up to `length` bytes from a position; returns fewer at the end of the file. */
export function readBytes(descriptor: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let offset = 0;
  while (offset < length) {
    const bytesRead = readSync(descriptor, buffer, offset, length - offset, position + offset);
    if (bytesRead === 0) return buffer.subarray(0, offset);
    offset += bytesRead;
  }
  return buffer;
}

function tooLargeError(file: string, size: number, maxBytes: number): UserError {
  return new UserError({ file, message: `has at least ${size} bytes; the maximum is ${maxBytes}` });
}

/** Maximum length of a name in bytes. File systems allow 255, but drafts and locks append a suffix. */
const maxNameLength = 235;

/** Maximum length, in characters, of a name to which a time or number is appended. */
export const maxStemLength = 120;

/** Explains why a string can't be a file name; undefined if it can. */
function nameProblem(name: string): string | undefined {
  if (/^\.{0,2}$|[/\\\0]/.test(name))
    return "isn't a file name: it is empty, `.` or `..`, or contains a slash, backslash or null character";
  const bytes = Buffer.byteLength(name);
  return bytes > maxNameLength
    ? `a name of ${bytes} bytes is too long for a file or folder; the maximum is ${maxNameLength}`
    : undefined;
}

/** @throws UserError if the string can't be a file name */
export function requireFileName(name: string, place: Omit<Problem, 'message' | 'value'>): string {
  const message = nameProblem(name);
  if (message !== undefined) throw new UserError({ ...place, value: name, message });
  return name;
}

const homeHint =
  'write the path out; only `~/` and `$HOME/` at the beginning of a path mean your home directory';

/**
 * Replaces `~`, `$HOME` or `${HOME}` at the beginning of a path with the home directory.
 * @throws UserError if the path begins with another variable or with another user's `~name`
 */
export function expandHome(path: string, place: Omit<Problem, 'message' | 'value'>): string {
  const [firstPart = ''] = path.split(/[/\\]/, 1);
  if (isHome(firstPart)) return join(homedir(), path.slice(firstPart.length));
  if (/^(?:~[\w.-]+|\$\w+|\$\{\w+\})$/.test(firstPart))
    throw new UserError({ ...place, value: path, message: `${firstPart} isn't expanded`, hint: homeHint });
  return path;
}

const isHome = (part: string) => /^(?:~|\$HOME|\$\{HOME\})$/.test(part);

/** @throws UserError if a part of the path is too long, or is an unexpanded `~` or `$HOME` */
export function requireShortNames(path: string, place: Omit<Problem, 'message' | 'value'>): string {
  const parts = path.split(/[/\\]/);
  const homePart = parts.find(isHome);
  if (homePart !== undefined)
    throw new UserError({ ...place, value: path, message: `contains ${homePart}`, hint: homeHint });
  const longName = parts.find((part) => Buffer.byteLength(part) > maxNameLength);
  if (longName !== undefined) requireFileName(longName, { hint: 'choose a shorter name', ...place });
  return path;
}
