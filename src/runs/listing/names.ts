/**
 * Finds the runs that a command-line argument refers to: a path, `latest`, a number from `policyloop list`, a name or
 * the beginning of a name, a directory of runs, or a pattern.
 */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { closestMatch, UserError } from '../../base/errors.js';
import { foldersMatching, isPattern } from '../../base/files/files.js';
import { shellWord } from '../../base/text/one-line.js';
import { itemsBelow, runsBelow } from '../finder.js';
import { noRunError, runFiles } from '../reader.js';
import { hasTraining, trainingFiles } from '../training-files.js';
import { compareValues } from './fields.js';
import { isStudy, type ListLine, listLines, type RunFolders, rootsOf } from './listing.js';
import { type LocatedItem, scanItems } from './scan.js';

/** `folder`: a study, or any other directory of runs. */
type MatchKind = 'run' | 'folder' | 'training';

export interface NameMatch {
  readonly kind: MatchKind;
  readonly path: string;
}

/**
 * Path of the only run with this name.
 * @throws UserError if none or several match; the error suggests names if there are any
 */
export const findRun = (name: string, folders: RunFolders): string => findItem(name, folders, ['run']).path;

/**
 * The only item of these kinds with this name; for the result of a training run, the training run.
 * @throws UserError if none or several match; the error suggests names if there are any
 */
export function findItem(name: string, folders: RunFolders, kinds: readonly MatchKind[]): NameMatch {
  const matches = allMatches(name, folders, ({ kind }) => kinds.includes(kind));
  if (matches.length === 1) return matches[0]!;
  if (matches.length > 1) throw ambiguousError(name, matches, folders);
  const result = pathsOf(name, folders).find(isResult);
  if (result !== undefined) return findItem(dirname(result), folders, kinds);
  const [folder] = allMatches(name, folders, ({ kind }) => kind === 'folder');
  if (folder === undefined) throw missingError(name, folders);
  const runs = runsBelow(folder.path).map((path) => ({ kind: 'run', path }) as const);
  throw ambiguousError(name, runs, folders, 'this is a directory; choose a run in it');
}

/** True if a training run wrote its model, adapter or policy to this directory. */
const isResult = (path: string) => existsSync(join(path, trainingFiles.about)) && hasTraining(dirname(path));

/**
 * Paths of the runs with these names, without duplicates, in the given order.
 * @param isWhole true for a directory to return as a whole, instead of the runs in it; else, training runs are skipped
 * @throws UserError if a name matches no run, or is ambiguous
 */
export function findRuns(
  names: readonly string[],
  folders: RunFolders,
  isWhole: (found: NameMatch) => boolean = () => false,
): readonly string[] {
  const paths = names.flatMap((name) => {
    const items = findMatches(name, folders, (match) => match.kind !== 'training' || isWhole(match));
    const runs = items.flatMap((match) => (isWhole(match) ? match.path : runsBelow(match.path)));
    if (runs.length === 0) throw missingError(name, folders);
    return runs;
  });
  return [...new Map(paths.map((path) => [realpathSync(path), path])).values()];
}

/**
 * Paths of the runs, directories of runs and training runs that match a name or pattern. Never matches a folder that
 * `foldersOf` returns, or a parent of one.
 * @throws UserError if nothing matches, or the name is ambiguous; the error suggests names
 */
export function findPaths(name: string, folders: RunFolders): readonly string[] {
  const holdsAll = (path: string) => foldersOf(folders).some((folder) => `${folder}/`.startsWith(`${path}/`));
  const matches = findMatches(name, folders, ({ path }) => !holdsAll(path));
  if (matches.length === 0) throw missingError(name, folders);
  return outermostOf(matches).map(({ path }) => path);
}

/** @throws UserError if something other than a pattern matches several items */
function findMatches(name: string, folders: RunFolders, isWanted: (found: NameMatch) => boolean) {
  const matches = allMatches(name, folders, isWanted);
  if (matches.length > 1 && !isPattern(name)) throw ambiguousError(name, matches, folders);
  return matches;
}

/** Everything that a name can refer to: several items for a pattern or an ambiguous name. */
function allMatches(name: string, folders: RunFolders, accepts: (found: NameMatch) => boolean) {
  const isWanted = (found: NameMatch | undefined): found is NameMatch => {
    if (found === undefined || !accepts(found)) return false;
    rejectOutsideLink(found.path, folders);
    return true;
  };
  if (isPattern(name)) {
    return (
      searchRoots(name, folders)
        .map((root) => foldersMatching(name, root).toSorted().map(matchAt).filter(isWanted))
        .find((found) => found.length > 0) ?? []
    );
  }
  const paths = pathsOf(name, folders);
  const exactMatch = paths.map(matchAt).find(isWanted);
  if (exactMatch !== undefined) return [exactMatch];
  // An existing path takes precedence, even if it isn't a run.
  if (name.includes('/') && paths.some((path) => existsSync(path))) return [];
  if (existsSync(paths.at(-1)!)) return [];
  if (name === 'latest')
    return newestRun(scanItems(rootsOf(folders)).values())
      .map(({ path }): NameMatch => ({ kind: 'run', path }))
      .filter(isWanted);
  if (/^[1-9]\d*$/.test(name)) {
    const line = listLines(folders).lines[Number(name) - 1];
    return line === undefined ? [] : [matchOf(line)].filter(isWanted);
  }
  return matchPrefix(name, allItems(folders).filter(isWanted), folders);
}

/** @throws UserError if the path is in a folder of runs, but a link leads out of that folder */
function rejectOutsideLink(path: string, folders: RunFolders): void {
  const folder = foldersOf(folders).find((root) => isBelow(path, root));
  if (folder === undefined || isBelow(realpathSync(path), realpathSync(folder))) return;
  throw outsideError(path, folder, `use its target: ${realpathSync(path)}`);
}

/**
 * Checks a name that comes from a client.
 * @throws UserError if it refers to an existing path outside the working directory and the folders of runs
 */
export function requireConfined(name: string, folders: RunFolders): void {
  const roots = [folders.cwd, ...foldersOf(folders)]
    .filter((folder) => existsSync(folder))
    .map((folder) => realpathSync(folder));
  const paths = isPattern(name)
    ? searchRoots(name, folders).flatMap((root) => foldersMatching(name, root))
    : pathsOf(name, folders);
  for (const path of paths.filter((candidate) => existsSync(candidate))) {
    const realPath = realpathSync(path);
    if (!roots.some((root) => isBelow(realPath, root) || realPath === root))
      throw outsideError(name, 'the working directory', 'choose a path inside it');
  }
}

const isBelow = (path: string, folder: string) => path.startsWith(`${folder.replace(/[/\\]$/, '')}${sep}`);

const outsideError = (value: string, folder: string, hint: string) =>
  new UserError({ value, message: `leads to a path outside ${folder}`, hint });

/** Directories in which to search for a pattern. */
const searchRoots = (name: string, { cwd, runsDir }: RunFolders) =>
  isAbsolute(name) ? [cwd] : [cwd, resolve(cwd, runsDir)];

/** Paths that a name can mean, by precedence: in the working directory, `tuned` (if searched), the runs directory. */
function pathsOf(name: string, folders: RunFolders): readonly string[] {
  if (isAbsolute(name)) return [name];
  const [runsFolder = '', ...others] = foldersOf(folders);
  return [folders.cwd, ...others, runsFolder].map((folder) => resolve(folder, name));
}

function matchAt(path: string): NameMatch | undefined {
  if (existsSync(join(path, runFiles.manifest))) return { kind: 'run', path };
  if (hasTraining(path)) return { kind: 'training', path };
  return runsBelow(path).length > 0 ? { kind: 'folder', path } : undefined;
}

const matchOf = (line: ListLine): NameMatch => ({
  kind: isStudy(line) ? 'folder' : line.places[0]!.training === undefined ? 'run' : 'training',
  path: line.path,
});

/** The run that was started last; empty if there is none. */
export const newestRun = (items: Iterable<LocatedItem>): readonly LocatedItem[] =>
  [...items]
    .filter(({ summary }) => summary)
    .toSorted((a, b) => compareValues(a.item.started, b.item.started))
    .slice(-1);

/** Everything that can be named: runs, studies and training runs. */
const allItems = (folders: RunFolders): readonly NameMatch[] =>
  foldersOf(folders)
    .flatMap((folder) => itemsBelow(folder))
    .flatMap(({ kind, name, path, within }): readonly NameMatch[] => {
      if (kind !== 'plan') return [{ kind, path }];
      return within === null && name !== '' ? [{ kind: 'folder', path }] : [];
    });

/** The runs directory and, if it is the default one, the folder of training runs. */
const foldersOf = (folders: RunFolders): readonly string[] => rootsOf(folders).map(({ path }) => path);

/** Names for shell completion: `latest`, and the names of all runs, training runs and studies. */
export const runNames = (folders: RunFolders): readonly string[] => [
  'latest',
  ...new Set(allItems(folders).map(({ path }) => nameOf(path, folders))),
];

/**
 * Items whose name or base name begins with `start`; if some base names equal `start`, only those items. A matching
 * directory replaces its contents.
 */
function matchPrefix(start: string, items: readonly NameMatch[], folders: RunFolders): readonly NameMatch[] {
  if (start === '') return [];
  const candidates = items.filter(
    ({ path }) => nameOf(path, folders).startsWith(start) || basename(path).startsWith(start),
  );
  const exactMatches = candidates.filter(({ path }) => basename(path) === start);
  return outermostOf(exactMatches.length > 0 ? exactMatches : candidates);
}

/** Removes items that are inside other items. */
function outermostOf(matches: readonly NameMatch[]): readonly NameMatch[] {
  const paths = new Set(matches.map(({ path }) => path));
  const isInner = (path: string): boolean =>
    dirname(path) !== path && (paths.has(dirname(path)) || isInner(dirname(path)));
  return matches.filter(({ path }) => !isInner(path));
}

/** Path relative to a folder from `foldersOf` or to the working directory; absolute elsewhere. */
function nameOf(path: string, folders: RunFolders): string {
  const root = [...foldersOf(folders), folders.cwd].find((folder) => path.startsWith(`${folder}/`));
  return root === undefined ? path : relative(root, path);
}

function ambiguousError(
  name: string,
  matches: readonly NameMatch[],
  folders: RunFolders,
  message = `this ${isPattern(name) ? 'pattern' : 'name'} matches ${matches.length} runs or directories; choose one`,
): UserError {
  return new UserError({
    field: 'run',
    message,
    value: name,
    alternatives: matches.map(({ path }) => nameOf(path, folders)),
  });
}

/** The error to throw if nothing matches. */
function missingError(name: string, folders: RunFolders): UserError {
  const existingPath = isPattern(name) ? undefined : pathsOf(name, folders).find((path) => existsSync(path));
  if (existingPath !== undefined) return noRunError(existingPath);
  const parentFolder = pathsOf(dirname(name), folders).find(
    (path) => dirname(name) !== '.' && runsBelow(path).length > 0,
  );
  const names = parentFolder
    ? runsBelow(parentFolder).map((path) => join(dirname(name), relative(parentFolder, path).split(sep)[0]!))
    : allItems(folders).map(({ path }) => nameOf(path, folders));
  return new UserError({
    message: `${isPattern(name) ? 'no run matches' : 'no such run:'} ${name}`,
    near: closestMatch(name, names),
    alternatives: [...new Set(names)],
    hint: name.includes('=')
      ? `only policyloop list accepts filters; pass the numbers that \`policyloop list ${shellWord(name)}\` prints`
      : 'list your runs with policyloop list',
  });
}
