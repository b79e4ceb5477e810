/** The state of a list, which is part of the URL: filter, order, columns and grouping. */
import { fieldOf, isSettingKey } from '../../runs/listing/fields.js';
import { isKnownField, unknownKeyMessage } from '../../runs/listing/filter.js';

export interface TableState {
  readonly filter: string;
  /** A key; a leading `-` means descending order. */
  readonly sort: string;
  /** Keys of the columns after the name. */
  readonly columns: readonly string[];
  /** Keys whose values define the groups; empty: no groups. */
  readonly by: readonly string[];
}

/** Maximum number of single runs in a comparison. There is no limit for groups. */
export const maxSingleRuns = 16;

const initialColumns: readonly string[] = [
  ...['status', 'environment', 'model', 'progress', 'observed', 'confirmed', 'started'],
];

const initialState: TableState = { filter: '', sort: '-started', columns: initialColumns, by: [] };

const listOf = (text: string): readonly string[] =>
  [...new Set(text.split(',').map((part) => part.trim()))].filter(Boolean);

/** @param defaultColumns shown if the query names none */
export function stateOf(query: URLSearchParams, defaultColumns = initialColumns): TableState {
  const [columns, by] = [query.get('columns'), query.get('by')];
  return {
    filter: query.get('filter') ?? initialState.filter,
    sort: query.get('sort') ?? (by ? 'name' : initialState.sort),
    columns: columns === null ? defaultColumns : listOf(columns).map((key) => fieldOf(key).key),
    by: by === null ? [] : listOf(by),
  };
}

/** Returns the parts of the state that differ from the defaults, as a query. */
export function queryOfState({ by, columns, filter, sort }: TableState): Readonly<Record<string, string>> {
  return {
    ...(filter !== initialState.filter && { filter }),
    ...(by.length > 0 && { by: by.join(',') }),
    ...(sort !== (by.length > 0 ? 'name' : initialState.sort) && { sort }),
    ...(columns.join() !== initialColumns.join() && { columns: columns.join(',') }),
  };
}

/** Returns the keys whose values the server must send with the items. */
export const usedKeys = ({ by, columns, sort }: TableState, filtered: readonly string[]): readonly string[] =>
  [...new Set([...by, ...columns, ...filtered, sort.replace(/^-/, '')])].filter(isSettingKey).toSorted();

export const unknownKeyMessages = (
  keys: readonly string[],
  configKeys: readonly string[] | undefined,
): readonly string[] =>
  [...new Set(keys)]
    .filter((key) => !isKnownField(fieldOf(key), configKeys))
    .map((key) => unknownKeyMessage(key, configKeys ?? []));
