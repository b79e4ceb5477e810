import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../errors.js';
import { withPath } from './json-lines.js';

/**
 * Replaces a file in one step: a crash leaves the old one or the new one, and what fails the old one.
 * @throws what the system says, with the path
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.new`;
  try {
    writeFileSync(draft, content);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw withPath(error, draft);
  }
}

/** Makes a directory below `root` for this process alone: the name, or the name with a number. */
export function claimDirectory(root: string, name: string): string {
  makeDirectory(root);
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

/** Makes a directory and those around it. */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new UserError({
      field: '--run-dir',
      message: `this directory can't be made (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      value: path,
      remedy: 'name a directory that can be written to',
    });
  }
}

/**
 * A name as a file, a directory or a job can have it: letters, digits, dot, hyphen and underscore, not beginning with
 * the last three.
 * @param otherwise the name where nothing is left of `text`
 */
export function plainName(text: string, otherwise: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-._]+/, '') || otherwise;
}
