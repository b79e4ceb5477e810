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
import { isTraining, trainingFiles } from '../training-files.js';
import { compareValues } from './fields.js';
import { isStudy, type Line, linesOf, type RunFolders, rootsOf } from './listing.js';
import { type Place, scanItems } from './scan.js';

/** `folder`: a study, or any other directory of runs. */
type Kind = 'run' | 'folder' | 'training';

export interface Match {
  readonly kind: Kind;
  readonly path: string;
}

/**
 * Path of the only run with this name.
 * @throws UserError if none or several match; the error suggests names if there are any
 */
export const findRun = (name: string, places: RunFolders): string => findNamed(name, places, ['run']).path;

/**
 * The only item of these kinds with this name; for the result of a training run, the training run.
 * @throws UserError if none or several match; the error suggests names if there are any
 */
export function findNamed(name: string, places: RunFolders, kinds: readonly Kind[]): Match {
  const isOneOf = ({ kind }: Match) => kinds.includes(kind);
  const found = matches(name, places, isOneOf);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) throw ambiguousError(name, found, places);
  const result = pathsOf(name, places).find(isResult);
  if (result !== undefined) return findNamed(dirname(result), places, kinds);
  const [folder] = matches(name, places, ({ kind }) => kind === 'folder');
  if (folder === undefined) throw missingError(name, places);
  throw ambiguousError(
    name,
    runsBelow(folder.path).map((path) => ({ kind: 'run', path })),
    places,
  );
}

/** True if a training run wrote its model, adapter or policy to this directory. */
const isResult = (path: string) => existsSync(join(path, trainingFiles.about)) && isTraining(dirname(path));

/**
 * Paths of the runs with these names, without duplicates, in the given order.
 * @param isWhole returns true for an item, such as a training run, to return it instead of the runs in it
 * @throws UserError if a name matches no run, or is ambiguous
 */
export function findRuns(
  names: readonly string[],
  places: RunFolders,
  isWhole: (found: Match) => boolean = () => false,
): readonly string[] {
  const found = names.flatMap((name) => {
    const items = findMatches(name, places, (one) => one.kind !== 'training' || isWhole(one));
    const runs = items.flatMap((one) => (isWhole(one) ? one.path : runsBelow(one.path)));
    if (runs.length === 0) throw missingError(name, places);
    return runs;
  });
  return [...new Map(found.map((path) => [realpathSync(path), path])).values()];
}

/**
 * Paths of the runs, directories of runs and training runs that match a name or pattern. Never matches the runs
 * directory, the folder of training runs or a parent of either.
 * @throws UserError if nothing matches, or the name is ambiguous; the error suggests names
 */
export function findAll(name: string, places: RunFolders): readonly string[] {
  const holdsAll = (path: string) => foldersOf(places).some((folder) => `${folder}/`.startsWith(`${path}/`));
  const found = findMatches(name, places, ({ path }) => !holdsAll(path));
  if (found.length === 0) throw missingError(name, places);
  return outermostOf(found).map(({ path }) => path);
}

/** @throws UserError if something other than a pattern matches several items */
function findMatches(name: string, places: RunFolders, isWanted: (found: Match) => boolean) {
  const found = matches(name, places, isWanted);
  if (found.length > 1 && !isPattern(name)) throw ambiguousError(name, found, places);
  return found;
}

/** Everything that a name can refer to: several items for a pattern or an ambiguous name. */
function matches(name: string, places: RunFolders, wanted: (found: Match) => boolean): readonly Match[] {
  const isWanted = (found: Match | undefined): found is Match => {
    if (found === undefined || !wanted(found)) return false;
    requireInside(found.path, places);
    return true;
  };
  if (isPattern(name)) {
    return (
      searchRoots(name, places)
        .map((root) => foldersMatching(name, root).toSorted().map(namedAt).filter(isWanted))
        .find((found) => found.length > 0) ?? []
    );
  }
  const paths = pathsOf(name, places);
  const exact = paths.map(namedAt).find(isWanted);
  if (exact !== undefined) return [exact];
  // An existing path takes precedence, even if it isn't a run.
  if (name.includes('/') && paths.some((path) => existsSync(path))) return [];
  if (existsSync(paths.at(-1)!)) return [];
  if (name === 'latest')
    return newestRun(scanItems(rootsOf(places)).values())
      .map(({ path }): Match => ({ kind: 'run', path }))
      .filter(isWanted);
  if (/^[1-9]\d*$/.test(name)) {
    const line = linesOf(places).lines[Number(name) - 1];
    return line === undefined ? [] : [namedIn(line)].filter(isWanted);
  }
  return startingWith(name, allNamed(places).filter(isWanted), places);
}

/** @throws UserError if the path is in a folder of runs, but a link leads out of that folder */
function requireInside(path: string, places: RunFolders): void {
  const folder = foldersOf(places).find((one) => isBelow(path, one));
  if (folder === undefined || isBelow(realpathSync(path), realpathSync(folder))) return;
  throw outsideError(path, folder, `use its target: ${realpathSync(path)}`);
}

/**
 * Checks a name that comes from a client.
 * @throws UserError if it refers to an existing path outside the working directory and the folders of runs
 */
export function requireWithin(name: string, places: RunFolders): void {
  const roots = [places.cwd, ...foldersOf(places)]
    .filter((folder) => existsSync(folder))
    .map((folder) => realpathSync(folder));
  const paths = isPattern(name)
    ? searchRoots(name, places).flatMap((root) => foldersMatching(name, root))
    : pathsOf(name, places);
  for (const path of paths.filter((one) => existsSync(one))) {
    const real = realpathSync(path);
    if (!roots.some((root) => isBelow(real, root) || real === root))
      throw outsideError(name, 'the working directory', 'choose a path inside it');
  }
}

const isBelow = (path: string, folder: string) => path.startsWith(`${folder.replace(/[/\\]$/, '')}${sep}`);

const outsideError = (value: string, folder: string, hint: string) =>
  new UserError({ value, message: `leads to a path outside ${folder}`, hint });

/** Directories in which to search for a pattern. */
const searchRoots = (name: string, { cwd, runsDir }: RunFolders) =>
  isAbsolute(name) ? [cwd] : [cwd, resolve(cwd, runsDir)];

/** Paths that a name can mean, in order of precedence, including those in the folders of training runs. */
function pathsOf(name: string, places: RunFolders): readonly string[] {
  if (isAbsolute(name)) return [name];
  const [root = '', ...others] = foldersOf(places);
  return [places.cwd, ...others, root].map((folder) => resolve(folder, name));
}

function namedAt(path: string): Match | undefined {
  if (existsSync(join(path, runFiles.manifest))) return { kind: 'run', path };
  if (isTraining(path)) return { kind: 'training', path };
  return runsBelow(path).length > 0 ? { kind: 'folder', path } : undefined;
}

const namedIn = (line: Line): Match => ({
  kind: isStudy(line) ? 'folder' : line.places[0]!.training === undefined ? 'run' : 'training',
  path: line.path,
});

/** The run that was started last; empty if there is none. */
export const newestRun = (places: Iterable<Place>): readonly Place[] =>
  [...places]
    .filter(({ summary }) => summary)
    .toSorted((a, b) => compareValues(a.item.started, b.item.started))
    .slice(-1);

/** Everything that can be named: runs, studies and training runs. */
const allNamed = (places: RunFolders): readonly Match[] =>
  foldersOf(places)
    .flatMap((folder) => itemsBelow(folder))
    .flatMap(({ kind, name, path, within }): readonly Match[] => {
      if (kind !== 'plan') return [{ kind, path }];
      return within === null && name !== '' ? [{ kind: 'folder', path }] : [];
    });

/** The runs directory and the folder of training runs. */
const foldersOf = (places: RunFolders): readonly string[] => rootsOf(places).map(({ path }) => path);

/** Names for shell completion: `latest`, and the names of all runs, training runs and studies. */
export const runNames = (places: RunFolders): readonly string[] => [
  'latest',
  ...new Set(allNamed(places).map(({ path }) => nameOf(path, places))),
];

/**
 * Items whose name or base name begins with `start`; if some base names equal `start`, only those items. A matching
 * directory replaces its contents.
 */
function startingWith(start: string, all: readonly Match[], places: RunFolders): readonly Match[] {
  if (start === '') return [];
  const candidates = all.filter(
    ({ path }) => nameOf(path, places).startsWith(start) || basename(path).startsWith(start),
  );
  const exact = candidates.filter(({ path }) => basename(path) === start);
  const found = exact.length > 0 ? exact : candidates;
  return outermostOf(found);
}

/** Removes items that are inside other items. */
function outermostOf(found: readonly Match[]): readonly Match[] {
  const paths = new Set(found.map(({ path }) => path));
  const isHeld = (path: string): boolean =>
    dirname(path) !== path && (paths.has(dirname(path)) || isHeld(dirname(path)));
  return found.filter(({ path }) => !isHeld(path));
}

/** Path relative to the runs directory, a folder of training runs or the working directory; absolute outside them. */
function nameOf(path: string, places: RunFolders): string {
  const around = [...foldersOf(places), places.cwd].find((folder) => path.startsWith(`${folder}/`));
  return around === undefined ? path : relative(around, path);
}

function ambiguousError(name: string, found: readonly Match[], places: RunFolders): UserError {
  return new UserError({
    field: 'run',
    message: `${isPattern(name) ? 'this pattern matches' : 'this name matches'} ${found.length} runs or directories; choose one`,
    value: name,
    alternatives: found.map(({ path }) => nameOf(path, places)),
  });
}

/** The error to throw if nothing matches. */
function missingError(name: string, places: RunFolders): UserError {
  const there = isPattern(name) ? undefined : pathsOf(name, places).find((path) => existsSync(path));
  if (there !== undefined) return noRunError(there);
  const around = pathsOf(dirname(name), places).find(
    (path) => dirname(name) !== '.' && runsBelow(path).length > 0,
  );
  const names = around
    ? runsBelow(around).map((path) => join(dirname(name), relative(around, path).split(sep)[0]!))
    : allNamed(places).map(({ path }) => nameOf(path, places));
  return new UserError({
    message: `${isPattern(name) ? 'no run matches' : 'no such run:'} ${name}`,
    near: closestMatch(name, names),
    alternatives: [...new Set(names)],
    hint: name.includes('=')
      ? `only policyloop list accepts filters; pass the numbers that \`policyloop list ${shellWord(name)}\` prints`
      : 'list your runs with policyloop list',
  });
}
