/** Which runs a command's arguments name: paths, names below the runs directory, groups of repeats, collections, patterns. */
import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { UserError } from '../../src/errors.js';
import { collectionFile, findRun, groupFile, readGroup, runFiles } from '../../src/runs/reader.js';
import { foldersMatching, isPattern } from '../../src/storage/folder-patterns.js';
import { runsOfCollection } from '../../src/studies/collection-record.js';

/**
 * Paths of the runs, each once, sorted. A pattern (`*`, `?`, and `**` for any depth) is looked up from the working
 * directory, then below `runsDir`; what it finds that is no run is passed over.
 * @throws UserError where a name or a pattern finds no run
 */
export function findRuns(
  names: readonly string[],
  where: { readonly cwd: string; readonly runsDir: string },
): readonly string[] {
  const root = resolve(where.cwd, where.runsDir);
  const found = names.flatMap((name) => {
    if (!isPattern(name)) return runsAt(existing(resolve(where.cwd, name)) ?? findRun(name, root));
    const runs = (isAbsolute(name) ? [where.cwd] : [where.cwd, root])
      .map((from) =>
        foldersMatching(name, from)
          .filter((path) => existing(path) !== undefined)
          .flatMap(runsAt),
      )
      .find((paths) => paths.length > 0);
    if (runs === undefined) {
      throw new UserError({
        field: 'runs',
        message: 'no run matches this pattern',
        value: name,
        remedy: 'policyloop list shows the runs there are',
      });
    }
    return runs;
  });
  return [...new Map(found.map((path) => [realpathSync(path), path])).values()].toSorted();
}

const isRun = (path: string) => existsSync(join(path, runFiles.manifest));

const isCollection = (path: string) => existsSync(join(path, collectionFile));

const existing = (path: string): string | undefined =>
  isRun(path) || existsSync(join(path, groupFile)) || isCollection(path) ? path : undefined;

function runsAt(path: string): readonly string[] {
  if (isRun(path)) return [path];
  if (isCollection(path)) return runsOfCollection(path);
  return readGroup(path)
    .runs.map((name) => join(path, name))
    .filter(isRun);
}
