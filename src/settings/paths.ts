import { resolve } from 'node:path';
import { requireShortNames } from '../storage/regular-file.js';
import type { Path } from './issues.js';
import { declaredChild, isMapping, type SchemaNode, variantsOf } from './schema.js';

/**
 * A copy of settings with relative paths made absolute; the format of a field says whether it contains a path.
 * @param base folder to which the path at a field is relative; undefined leaves it unchanged
 * @throws UserError for a path that contains a name that is too long
 */
export function withAbsolutePaths<T>(
  value: T,
  root: SchemaNode,
  base: (path: Path) => string | undefined,
): T {
  const walk = (item: unknown, node: SchemaNode | undefined, path: Path): unknown => {
    if (node === undefined) return item;
    if (typeof item === 'string') {
      const folder = isPath(item, node) ? base(path) : undefined;
      if (folder === undefined) return item;
      return requireShortNames(resolve(folder, item), { field: path.join('.') });
    }
    if (Array.isArray(item))
      return item.map((inner, i) => walk(inner, declaredChild(node, String(i)), [...path, i]));
    if (!isMapping(item)) return item;
    return Object.fromEntries(
      Object.entries(item).map(([key, inner]) => [
        key,
        walk(inner, declaredChild(node, key), [...path, key]),
      ]),
    );
  };
  return walk(value, root, []) as T;
}

const isPath = (text: string, node: SchemaNode) =>
  variantsOf(node).some(({ format }) => format !== undefined && isPathOf(format, text));

/** Whether text in a field of this format is a path; an address (`package:…`, `gymnasium:…`) is not. */
export function isPathOf(format: string, text: string): boolean {
  if (/^[a-z][\w+.-]+:/i.test(text)) return false;
  switch (format) {
    case 'path':
      return true;
    case 'name-or-path':
      return /[\\/]/.test(text);
    case 'name-or-module':
      return /[\\/].*\.(?:[cm]?js|m?ts)$/.test(text);
    default:
      return false;
  }
}
