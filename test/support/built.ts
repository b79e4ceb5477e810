/** The package compiled, once for a run of the tests: programs of their own start faster from it than from sources. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Below the checkout, where modules find their packages and the package its files; a folder for each run. */
export const buildFolder = () => join(root, 'node_modules', '.cache', basename(tmpdir()));

/** The module that a source is compiled to: `built('src/cli.js')`. The first to ask compiles, others wait. */
export function built(path: string): string {
  const folder = buildFolder();
  const done = join(folder, 'done');
  mkdirSync(dirname(folder), { recursive: true });
  if (mkdirSync(folder, { recursive: true }) !== undefined) {
    try {
      compile(folder);
    } finally {
      writeFileSync(done, '');
    }
  }
  const look = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(done)) Atomics.wait(look, 0, 0, 50);
  return join(folder, path);
}

/** Types are for `npm run typecheck`. */
function compile(folder: string): void {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--noCheck', '--declaration', 'false', '--outDir', folder];
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...options]);
}
