/** Reads the files of a prompt set. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';

export interface Template {
  readonly file: string;
  readonly source: string;
}

/** True for regular files; false for folders and devices. */
export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Returns the path of a set's template; `example` is a built-in set to copy from. @throws UserError if missing */
export function templateFile(
  folder: string,
  name: string,
  required: readonly string[],
  field: string,
  example: string,
): string {
  const file = join(folder, `${name}.hbs`);
  if (isFile(file)) return file;
  throw new UserError({
    field,
    file,
    message: `the prompt set lacks ${name}.hbs; it needs ${required.map((one) => `${one}.hbs`).join(', ')}`,
    hint: `write it, or copy and adapt the one in ${join(packageRoot(), 'prompts', example)}`,
  });
}

/** Reads a template. @throws UserError if it can't be read */
export function readTemplate(file: string): Template {
  try {
    return {
      file,
      source: readFileSync(file, 'utf8')
        .replace(/^\uFEFF/, '')
        .replaceAll('\r\n', '\n'),
    };
  } catch (error) {
    throw new UserError({ file, message: `can't be read: ${messageOf(error)}` });
  }
}

/** Reads all templates in a set's `partials/`, by name without `.hbs`; empty if there is no such folder. */
export function readPartials(set: string): ReadonlyMap<string, Template> {
  const folder = join(set, 'partials');
  if (!isFolder(folder)) return new Map();
  const names = readdirSync(folder).filter((name) => name.endsWith('.hbs'));
  return new Map(names.sort().map((name) => [basename(name, '.hbs'), readTemplate(join(folder, name))]));
}
