import { resolve } from 'node:path';
import type { Path } from './issues.js';
import { declaredChild, isMapping, itemOf, type SchemaNode, variantsOf } from './schema.js';

/**
 * A copy of settings with their relative paths made absolute: those of the fields whose schema has the format `path`,
 * and of those with `name-or-path` that hold a slash. An address (`package:…`) stays as it is.
 * @param base folder that the path at a field is relative to; undefined leaves it as it stands
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
      return folder === undefined ? item : resolve(folder, item);
    }
    if (Array.isArray(item)) return item.map((inner, i) => walk(inner, itemOf(node, i), [...path, i]));
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

function isPath(text: string, node: SchemaNode): boolean {
  const formats = variantsOf(node).map(({ format }) => format);
  const isAddress = /^[a-z][\w+.-]+:/i.test(text);
  return !isAddress && (formats.includes('path') || (formats.includes('name-or-path') && /[\\/]/.test(text)));
}
