/** Lists runs and training runs for `policyloop list`, e.g. with `environment=CartPole-v1 best=400..`. */

import { join, resolve } from 'node:path';
import { commonOptions } from '../../base/command.js';
import { UserError } from '../../base/errors.js';
import { groupBy } from '../../base/grouped.js';
import { formatReturn } from '../../base/text/numbers.js';
import { type Column, number, terminalTable, text } from '../../base/text/table.js';
import { tunedFolder } from '../training-files.js';
import { compareValues, fieldOf, isSettingKey, sortItems } from './fields.js';
import { isKnownField, parseFilter, unknownKeyMessage } from './filter.js';
import { holdsRuns, type Item } from './item.js';
import { type LocatedItem, type ScanRoot, scanItems, totalsOf, unsetFields } from './scan.js';

/** The directories in which to look for runs. */
export interface RunFolders {
  readonly cwd: string;
  readonly runsDir: string;
}

/** Directories to scan: the runs directory and, if that is the default, also `tuned`. */
export const rootsOf = ({ cwd, runsDir }: RunFolders): readonly ScanRoot[] => [
  { path: resolve(cwd, runsDir), prefix: '' },
  ...(runsDir === commonOptions.runsDir.default
    ? [{ path: join(cwd, tunedFolder), prefix: `${tunedFolder}/`, name: tunedFolder }]
    : []),
];

/** A line of the list: a run, a training run, or the runs of a study. */
export interface ListLine {
  readonly name: string;
  readonly path: string;
  /** Number that commands accept instead of the name. */
  readonly number: number;
  /** From oldest to newest. */
  readonly places: readonly LocatedItem[];
}

/**
 * One line per run, except that the runs of a study share one, then one per training run; oldest first. `damaged`: the
 * runs and training runs that can't be read.
 */
export function listLines(folders: RunFolders) {
  const itemsByName = scanItems(rootsOf(folders));
  const items = [...itemsByName.values()].filter(({ item }) => !holdsRuns(item));
  const startKey = ({ item, training }: LocatedItem) => `${training ? 1 : 0} ${item.started ?? ''}`;
  const lines = groupBy(
    items
      .filter(({ summary, training }) => summary ?? training)
      .toSorted((a, b) => compareValues(startKey(a), startKey(b))),
    ({ item: { kind, name, within } }) => (kind === 'training' ? name : (within ?? name)),
  );
  return {
    lines: [...lines].map(
      ([name, own], i): ListLine => ({ name, path: itemsByName.get(name)!.path, number: i + 1, places: own }),
    ),
    damaged: items.filter(({ summary, training }) => (summary ?? training) === undefined),
  };
}

export interface ListSelection {
  /** Each is a word, or has the form `key=value`. */
  readonly filters: readonly string[];
  /** The key to sort by; if undefined, the oldest comes first. */
  readonly sort: string | undefined;
  /** Maximum number of runs: the first ones if `sort` is set, otherwise the newest. */
  readonly limit: number | undefined;
}

/** The config keys whose values the selection needs. */
export const usedKeys = ({ filters, sort = 'name' }: ListSelection): readonly string[] =>
  [...parseFilter(filters).settingKeys, sort].filter(isSettingKey);

/**
 * The items that the filters accept, sorted and limited.
 * @param configKeys all keys of the configs; the items must hold the values of the keys that `usedKeys` returns
 * @throws UserError for an invalid filter or sort key
 */
export function selectItems<T extends LocatedItem>(
  items: readonly T[],
  { filters, limit, sort }: ListSelection,
  configKeys: readonly string[],
): readonly T[] {
  const { accepts, problems } = parseFilter(filters, configKeys);
  if (problems[0] !== undefined) throw new UserError({ field: 'filters', message: problems[0] });
  const locatedByItem = new Map(items.map((located) => [located.item, located]));
  const accepted = [...locatedByItem.keys()].filter(accepts);
  const selected =
    sort === undefined
      ? accepted.slice(-(limit ?? accepted.length))
      : sortItems(accepted, sortOf(accepted, sort, configKeys)).slice(0, limit);
  return selected.map((item) => locatedByItem.get(item)!);
}

/** Returns the order for a key: ascending for texts, descending for numbers and times. */
function sortOf(items: readonly Item[], key: string, configKeys: readonly string[]): string {
  const field = fieldOf(key);
  if (!isKnownField(field, configKeys))
    throw new UserError({ field: '--sort', message: unknownKeyMessage(key, configKeys) });
  const isText = items.some((item) => typeof field.get(item) === 'string');
  return isText && field.kind !== 'time' ? key : `-${key}`;
}

export const isStudy = ({ name, places }: ListLine): boolean => places[0]!.item.name !== name;

/** A table of runs and studies. */
export function listTable(lines: readonly ListLine[], width?: number): string {
  const rows = lines.map((line) => {
    const own = line.places.map(({ item }) => item);
    const row = { ...unsetFields, ...totalsOf(own), name: `${line.name}/`, status: '', failure: undefined };
    return { ...(isStudy(line) ? row : own[0]!), number: line.number, isStudy: isStudy(line) };
  });
  const columns: readonly Column<(typeof rows)[number]>[] = [
    number('#', (row) => row.number),
    text('run', ({ name }) => name),
    text('status', ({ done, failure, isStudy, of, status }) => {
      if (isStudy) return `${done} of ${of} completed`;
      return failure === undefined ? status : `${status}: 0 proposals accepted`;
    }),
    text('environment', ({ environment }) => environment),
    text('model', ({ model }) => model),
    number('iterations', ({ done, isStudy, of, status }) =>
      isStudy ? null : `${status === 'crashed' ? '≥' : ''}${done}/${of}`,
    ),
    number('observed', ({ observed }) => observed, { format: formatReturn }),
    number('confirmed', ({ confirmed }) => confirmed, { format: formatReturn }),
    text('started (UTC)', ({ started }) => started?.slice(0, 16).replace('T', ' ')),
    ...(rows.some(({ tags }) => tags.length > 0)
      ? [text<(typeof rows)[number]>('tags', ({ tags }) => tags.join(' '))]
      : []),
  ];
  return terminalTable(rows, columns, width);
}
