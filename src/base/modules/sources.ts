import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** SHA-256 of each module and of the files it imports by relative path; keys are absolute paths. */
export type ModuleHashes = Readonly<Record<string, string>>;

/**
 * Hashes modules and, recursively, the files that they import by relative path, but not packages.
 * `new URL('./data.json', import.meta.url)` counts as an import.
 */
export function hashModules(paths: readonly string[]): ModuleHashes {
  const hashes: Record<string, string> = {};
  const visit = (file: string): void => {
    if (Object.hasOwn(hashes, file)) return;
    const source = readFileSync(file);
    hashes[file] = createHash('sha256').update(source).digest('hex');
    if (!/\.(?:[cm]?js|m?ts)$/.test(file)) return;
    for (const [, specifier] of source.toString('utf8').matchAll(relativeImport)) {
      const found = fileOf(resolve(dirname(file), specifier!));
      if (found !== undefined) visit(found);
    }
  };
  for (const path of paths) visit(resolve(path));
  return Object.fromEntries(Object.entries(hashes).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const relativeImport = /\b(?:from|import|require|resolve|URL)\s*(?:\(\s*)?['"`](\.{1,2}\/[^'"`\n]+)['"`]/g;

/** Resolves an import path like Node: `require` may omit the extension, and TypeScript writes `.js` for `.ts`. */
function fileOf(path: string): string | undefined {
  const candidates = ['.js', '.cjs', '.json', '/index.js'].map((ending) => path + ending);
  return [path, path.replace(/js$/, 'ts'), ...candidates].find(isFile);
}

/** The modules, and the files they import, that are new or have changed; empty if their earlier state is unknown. */
export function changesSince(before: ModuleHashes | undefined, paths: readonly string[]): readonly string[] {
  if (before === undefined || paths.length === 0) return [];
  const after = hashModules(paths);
  return Object.keys(after).filter((file) => before[file] !== after[file]);
}

/** Files that differ between two states, or that only one of them contains. */
export function changedModules(a: ModuleHashes, b: ModuleHashes): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((file) => a[file] !== b[file]);
}
