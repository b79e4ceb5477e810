/** The runs in folders. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { collectionFile, planFile, runFiles } from './reader.js';

const isRun = (path: string) => existsSync(join(path, runFiles.manifest));

/** Levels of folders that are searched for runs: those of studies lie two below. */
const deepest = 4;

/** Paths of the runs in a folder and the folders in it, by name. Nothing is looked for within a run. */
export function runsBelow(folder: string, depth = 0): readonly string[] {
  if (isRun(folder)) return [folder];
  if (depth > deepest || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((item) => item.isDirectory() && !item.name.startsWith('.') && item.name !== 'node_modules')
    .map(({ name }) => name)
    .toSorted()
    .flatMap((name) => runsBelow(join(folder, name), depth + 1));
}

/** The study or the collection below `root` that a run is part of, the outermost of several. */
export function holderOf(name: string, root: string): string | undefined {
  const around = dirname(name);
  if (around === '.') return undefined;
  const holds = [planFile, collectionFile].some((file) => existsSync(join(root, around, file)));
  return holderOf(around, root) ?? (holds ? around : undefined);
}
