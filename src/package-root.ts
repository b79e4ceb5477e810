import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let found: string | undefined;

/** Folder of the installed package (which holds `prompts/` and `configs/`), from the sources as from `dist`. */
export function packageRoot(): string {
  found ??= search(dirname(fileURLToPath(import.meta.url)));
  return found;
}

function search(folder: string): string {
  if (nameOfPackage(join(folder, 'package.json')) === 'policyloop') return folder;
  const parent = dirname(folder);
  if (parent === folder)
    throw new Error('policyloop runs outside its package: no package.json named policyloop above it');
  return search(parent);
}

function nameOfPackage(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
