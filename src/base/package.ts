import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let cachedRoot: string | undefined;

/** Root of the package, with `prompts/` and `configs/`, whether this file runs from source or from `dist`. */
export function packageRoot(): string {
  cachedRoot ??= findRoot(dirname(fileURLToPath(import.meta.url)));
  return cachedRoot;
}

/** The text of a file in the package; `path` is relative to the root. */
export const packageText = (path: string): string => readFileSync(join(packageRoot(), path), 'utf8');

function findRoot(folder: string): string {
  if (packageName(join(folder, 'package.json')) === 'policyloop') return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error("can't find policyloop's package.json in a parent folder");
  return findRoot(parent);
}

function packageName(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

/** Git commit of the checkout, abbreviated; undefined in an installed package, or without Git. */
export function commitHash(): string | undefined {
  if (!existsSync(join(packageRoot(), '.git'))) return undefined;
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: packageRoot(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
