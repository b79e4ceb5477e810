/** Patterns of paths: `*` and `?` within a name, `**` for any depth. */
import { readdirSync, statSync } from 'node:fs';
import { isAbsolute, join, parse } from 'node:path';

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
