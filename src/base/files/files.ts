/** Atomic file replacement, new directories, validated JSON, and path patterns. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, parse, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { z } from 'zod';
import { closestMatch, messageOf, UserError } from '../errors.js';
import { isMatch } from '../pattern.js';
import { parseJson } from './json-depth.js';
import { withPath } from './json-lines.js';
import { maxStemLength, readRegularFile, requireShortNames, type SymlinkMode } from './regular-file.js';

/**
 * Replaces a file atomically: a crash, even of the system, leaves either the old or the new file. If writing fails,
 * the old file stays.
 * @param content if an iterable, each part is written before the next one is requested
 * @throws system errors, with the path; UserError for a device, or for a name that is too long
 */
export function replaceFile(path: string, content: string | Uint8Array | Iterable<Uint8Array>): void {
  const { complete, descriptor, discard } = writeDraft(path, content);
  try {
    fsyncSync(descriptor);
    complete();
  } catch (error) {
    throw discard(error);
  }
}

/** Like `replaceFile`, but flushes the content asynchronously, for a small file that is replaced often. */
export async function replaceFileAsync(path: string, content: string): Promise<void> {
  const { complete, descriptor, discard } = writeDraft(path, content);
  try {
    await promisify(fsync)(descriptor);
    complete();
  } catch (error) {
    throw discard(error);
  }
}

/** Writes the file that will replace another one; the caller flushes it to disk. */
function writeDraft(path: string, content: string | Uint8Array | Iterable<Uint8Array>) {
  requireShortNames(basename(path), { file: path });
  rejectDevice(path);
  const draft = `${path}.new`;
  let descriptor: number | undefined;
  const discard = (error: unknown) => {
    if (descriptor !== undefined) closeSync(descriptor);
    rmSync(draft, { force: true });
    return withPath(error, draft);
  };
  try {
    // Never write through an existing link at the draft's path.
    rmSync(draft, { force: true });
    const newDescriptor = openSync(draft, 'wx');
    descriptor = newDescriptor;
    const isWhole = typeof content === 'string' || content instanceof Uint8Array;
    for (const part of isWhole ? [content] : content) writeFileSync(newDescriptor, part);
    const complete = () => {
      closeSync(newDescriptor);
      descriptor = undefined;
      renameSync(draft, path);
      syncFile(dirname(path));
    };
    return { complete, descriptor: newDescriptor, discard };
  } catch (error) {
    throw discard(error);
  }
}

/** @throws UserError for a device, pipe or socket such as `/dev/stdout`, which writing would replace with a file */
export function rejectDevice(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  const message = 'is a device, pipe or socket, not a file';
  throw new UserError({ file: path, message, hint: 'choose a file' });
}

/** Flushes a file, or the list of files in a directory, to disk. */
export function syncFile(path: string): void {
  // Windows can't open directories, and flushes only files that are open for writing.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Creates a new directory in `root`, appending a number to the name if it is taken. */
export function claimDirectory(root: string, name: string): string {
  makeDirectory(root, '--runs-dir');
  requireShortNames(name, { field: 'name' });
  for (let n = 1; ; n++) {
    const path = join(root, n === 1 ? name : `${name}-${n}`);
    try {
      mkdirSync(path);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** @param field the setting or option that contains the path, for error messages */
export function makeDirectory(path: string, field = '--run-dir'): void {
  requireShortNames(path, { field });
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new UserError({
      field,
      message: `can't create this directory (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      value: path,
      hint: 'choose another location',
    });
  }
}

/**
 * Turns text into a name for files, directories and jobs: letters, digits, dot, hyphen and underscore, starting
 * with a letter or digit. A long name is shortened and ends in a hash.
 * @param fallback the result if `text` has no usable characters
 */
export function plainName(text: string, fallback: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-._]+/, '') || fallback;
  if (name.length <= maxStemLength) return name;
  return `${name.slice(0, maxStemLength - 9)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** Maximum size of a JSON file in bytes; the vocabularies of current models are smaller. */
const maxJsonBytes = 128 * 2 ** 20;

/**
 * Reads a JSON file; undefined if it doesn't exist.
 * @throws UserError if it isn't JSON, isn't a regular file, or is too large or too deep
 */
export function readJson(file: string, symlinks: SymlinkMode = 'follow'): unknown {
  if (!existsSync(file)) return undefined;
  const text = readRegularFile(file, maxJsonBytes, symlinks).toString('utf8');
  try {
    return parseJson(text);
  } catch (error) {
    throw new UserError({ file, message: `not valid JSON: ${messageOf(error)}` });
  }
}

/** Like `readJson`, but for a file of a run, study or training run, which must not be a link. */
export const readOwnJson = (file: string): unknown => readJson(file, 'reject');

/** Path of the file or folder next to `name` with the most similar name, among those that match `pattern`. */
export function nearestFile(name: string, cwd: string, pattern: RegExp): string | undefined {
  const folder = resolve(cwd, dirname(name));
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => pattern.test(file)) : [];
  const match = closestMatch(basename(name), files);
  return match && name.slice(0, -basename(name).length) + match;
}

/**
 * Validates a value with a schema.
 * @param section path of the value within the file
 * @throws UserError with the fields that don't match the schema: the first 20, and the number of others
 */
export function checkedValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  file: string,
  { section = [], prefix = '' }: { readonly section?: readonly string[]; readonly prefix?: string } = {},
): z.output<S> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as z.output<S>;
  const shown = error.issues.slice(0, maxProblems).map(({ path, message }) => ({
    file,
    field: [...section, ...path].join('.'),
    message: prefix + message,
  }));
  const more = error.issues.length - shown.length;
  throw new UserError(more === 0 ? shown : [...shown, { file, message: `further problems: ${more}` }]);
}

const maxProblems = 20;

export const isPattern = (text: string): boolean => /[*?]/.test(text);

/** Maximum number of folders to search, which stops a `**` at the root of a disk. */
const maxFolders = 20_000;

/**
 * Paths of the folders that match a pattern; a relative pattern starts at `from`. `*`, `?` and `**` never match links.
 * @throws UserError if the search covers too many folders
 */
export function foldersMatching(pattern: string, from: string): readonly string[] {
  let folderCount = 0;
  const searchFolder = (folder: string): readonly string[] => {
    if (++folderCount > maxFolders)
      throw new UserError({
        value: pattern,
        message: `this pattern searches more than ${maxFolders} folders`,
        hint: 'use a more specific path',
      });
    return subfolderNames(folder);
  };
  const withDescendants = (folder: string): readonly string[] => [
    folder,
    ...searchFolder(folder).flatMap((name) => withDescendants(join(folder, name))),
  ];
  let paths: readonly string[] = [isAbsolute(pattern) ? parse(pattern).root : from];
  for (const part of pattern.split('/').filter((text) => text !== '' && text !== '.')) {
    if (part === '**') paths = [...new Set(paths.flatMap(withDescendants))];
    else if (isPattern(part))
      paths = paths.flatMap((folder) =>
        searchFolder(folder).flatMap((name) => (isMatch(part, name) ? [join(folder, name)] : [])),
      );
    else paths = paths.map((folder) => join(folder, part)).filter((folder) => existsSync(join(folder, '.')));
  }
  return [...new Set(paths)];
}

function subfolderNames(folder: string): readonly string[] {
  try {
    const items = readdirSync(folder, { withFileTypes: true });
    return items.flatMap((item) => (item.isDirectory() ? [item.name] : []));
  } catch {
    // The folder was removed, isn't a folder, or is unreadable.
    return [];
  }
}
