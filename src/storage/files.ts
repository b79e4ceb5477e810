/** Files that are replaced whole, directories of their own, JSON that is checked, and patterns of paths. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, parse } from 'node:path';
import process from 'node:process';
import type { z } from 'zod';
import { messageOf, UserError } from '../base/errors.js';
import { parseJson } from './json-depth.js';
import { withPath } from './json-lines.js';
import { longestPart, requireShortNames } from './names.js';
import { readRegularFile } from './regular-file.js';

/**
 * Replaces a file in one step: a crash, of the machine too, leaves the old one or the new one, and what fails the old one.
 * @param content its parts are made when they are written
 * @throws what the system says, with the path; UserError for a name that is too long
 */
export function replaceFile(path: string, content: string | Uint8Array | Iterable<Uint8Array>): void {
  requireShortNames(basename(path), { file: path });
  refuseDevice(path);
  const draft = `${path}.new`;
  try {
    const descriptor = openSync(draft, 'w');
    try {
      const isWhole = typeof content === 'string' || content instanceof Uint8Array;
      for (const part of isWhole ? [content] : content) writeFileSync(descriptor, part);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(draft, { force: true });
    throw withPath(error, draft);
  }
}

/** @throws UserError for a device or the like, which would be replaced by a file, such as `/dev/stdout` */
export function refuseDevice(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined || there.isFile() || there.isDirectory()) return;
  throw new UserError({
    file: path,
    message: 'is a device, pipe or socket, not a file',
    remedy: 'name a file',
  });
}

/** The same for a small file that is replaced often: other work goes on while the disk is waited for. */
export async function replaceFileMeanwhile(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  try {
    const file = await open(draft, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(draft, { force: true });
    throw withPath(error, draft);
  }
}

/** Waits until a file or the names in a directory are on the disk. */
export function sync(path: string): void {
  // Windows opens no directories, and syncs only what it may write to.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a directory below `root` for this process alone: the name, or the name with a number. */
export function claimDirectory(root: string, name: string): string {
  makeDirectory(root);
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

/**
 * Makes a directory and those around it.
 * @param field that names it, for errors
 */
export function makeDirectory(path: string, field = '--run-dir'): void {
  requireShortNames(path, { field });
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new UserError({
      field,
      message: `this directory can't be made (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      value: path,
      remedy: 'name a directory that can be written to',
    });
  }
}

/**
 * A name as a file, a directory or a job can have it: letters, digits, dot, hyphen and underscore, not beginning with
 * the last three. A long one ends in a hash in the place of its end.
 * @param otherwise the name where nothing is left of `text`
 */
export function plainName(text: string, otherwise: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-._]+/, '') || otherwise;
  if (name.length <= longestPart) return name;
  return `${name.slice(0, longestPart - 9)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** Largest JSON file of a model directory: vocabularies of a million tokens stay below. */
const largestJson = 128 * 2 ** 20;

/**
 * A JSON file of a model directory, or undefined where there is none.
 * @throws UserError when it is not JSON, no regular file, or larger or deeper than any such file is
 */
export function readJson(file: string): unknown {
  if (!existsSync(file)) return undefined;
  const text = readRegularFile(file, largestJson).toString('utf8');
  try {
    return parseJson(text);
  } catch (error) {
    throw new UserError({ file, message: `this is not JSON: ${messageOf(error)}` });
  }
}

/**
 * @param section path of the value within the file
 * @param prefix of the messages
 * @throws UserError naming file and field of everything that does not fit the schema
 */
export function checkedValue<S extends z.ZodType>(
  schema: S,
  value: unknown,
  file: string,
  { section = [], prefix = '' }: { readonly section?: readonly string[]; readonly prefix?: string } = {},
): z.output<S> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as z.output<S>;
  const shown = error.issues.slice(0, mostProblems).map(({ path, message }) => ({
    file,
    field: [...section, ...path].join('.'),
    message: prefix + message,
  }));
  const more = error.issues.length - shown.length;
  throw new UserError(more === 0 ? shown : [...shown, { file, message: `and ${more} more` }]);
}

/** A file from elsewhere may hold any number of wrong values; the first tell what it is. */
const mostProblems = 20;

export const isPattern = (text: string): boolean => /[*?]/.test(text);

/** Paths of the folders that fit a pattern, looked up from `from` where it is relative. */
export function foldersMatching(pattern: string, from: string): readonly string[] {
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  return expand(isAbsolute(pattern) ? parse(pattern).root : from, parts);
}

function expand(folder: string, parts: readonly string[]): readonly string[] {
  const [part, ...rest] = parts;
  if (part === undefined) return [folder];
  if (part === '..') return expand(join(folder, part), rest);
  if (!isFolder(folder)) return [];
  const inner = readdirSync(folder).filter((name) => isFolder(join(folder, name)));
  if (part === '**') {
    return [...expand(folder, rest), ...inner.flatMap((name) => expand(join(folder, name), parts))];
  }
  return inner.filter((name) => matches(part, name)).flatMap((name) => expand(join(folder, name), rest));
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Whether a name fits a pattern in which `*` stands for any characters and `?` for one. */
export function matches(pattern: string, name: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(name);
}
