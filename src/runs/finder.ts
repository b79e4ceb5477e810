/** Finds the runs that names on a command line mean. */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UserError } from '../base/errors.js';
import { foldersMatching, isPattern } from '../storage/files.js';
import { collectionFile, groupFile, noRun, planFile, runFiles } from './reader.js';

/** Where names are looked up: from the working directory, then below the runs directory. */
export interface RunPlaces {
  readonly cwd: string;
  readonly runsDir: string;
}

/**
 * Path of the one run, or group of repeats, that a name means.
 * @throws UserError where there is none
 */
export function findRun(name: string, places: RunPlaces): string {
  const paths = rootsOf(name, places).map((root) => resolve(root, name));
  const found = paths.find((path) => isRun(path) || existsSync(join(path, groupFile)));
  if (found === undefined) throw noRun(paths[0]!);
  return found;
}

/**
 * Paths of the runs that names mean, each once, in the order given. A name is that of a run, of a directory that holds
 * runs at any depth (repeats, a study, a collection), or a pattern of either (`*`, `?`, and `**` for any depth).
 * @throws UserError where a name means no run
 */
export function findRuns(names: readonly string[], places: RunPlaces): readonly string[] {
  const found = names.flatMap((name) => {
    const roots = rootsOf(name, places);
    const runs = roots
      .map((root) => (isPattern(name) ? foldersMatching(name, root).toSorted() : [resolve(root, name)]))
      .map((folders) => folders.flatMap((folder) => runsBelow(folder)))
      .find((paths) => paths.length > 0);
    if (runs !== undefined) return runs;
    throw new UserError({
      field: 'runs',
      message: isPattern(name)
        ? 'no run matches this pattern'
        : roots.some((root) => existsSync(resolve(root, name)))
          ? 'this directory holds no run'
          : 'there is no such run or directory of runs',
      value: name,
      remedy: 'policyloop list shows the runs there are',
    });
  });
  return [...new Map(found.map((path) => [realpathSync(path), path])).values()];
}

const rootsOf = (name: string, { cwd, runsDir }: RunPlaces) =>
  isAbsolute(name) ? [cwd] : [cwd, resolve(cwd, runsDir)];

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
