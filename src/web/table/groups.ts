/** Groups of items with the same values of some keys, such as the runs of an experiment. */

import { compareValues, type Field, fieldOf, type Value } from '../../runs/listing/fields.js';
import { holdsRuns, type Item } from '../../runs/listing/item.js';
import type { GroupMeans } from '../messages.js';

export interface Group {
  /** Identifies the group in URLs: its environment and values, as JSON. */
  readonly id: string;
  /** Returns of different environments can't be compared, so they never share a group. */
  readonly environment: string | null;
  readonly values: readonly Value[];
  readonly items: readonly Item[];
}

/** Groups items by these keys. Skips directories of runs, because the runs in them are items too. */
export function groupsOf(items: readonly Item[], by: readonly string[]): readonly Group[] {
  const keys = by.map(fieldOf);
  const groups = new Map<string, Group & { readonly items: Item[] }>();
  for (const item of items) {
    if (holdsRuns(item)) continue;
    const { environment } = item;
    const values = keys.map(({ get }) => get(item));
    const id = JSON.stringify([environment, ...values]);
    const group = groups.get(id) ?? { id, environment, values, items: [] };
    group.items.push(item);
    groups.set(id, group);
  }
  return [...groups.values()];
}

/** Returns a title such as `0.7`, or `model.temperature 0.7, policy.kind linear` for several keys. */
export const groupTitle = ({ values }: Pick<Group, 'values'>, by: readonly string[]): string =>
  values.map((value, i) => `${by.length > 1 ? `${by[i]} ` : ''}${value ?? '–'}`).join(', ');

/** Returns a field's value for a group: mean, earliest start, shared value, or the number of different values. */
export function groupValue(items: readonly Item[], { key, kind, get }: Field): Value {
  const values = items.map(get).filter((value) => value !== null);
  const [firstValue = null] = values;
  if (firstValue === null) return null;
  if (key === 'started') return values.reduce((least, value) => (value < least ? value : least));
  const count = new Set(values).size;
  if (key === 'seed' && count > 1) return `${count} seeds`;
  const numbers = values.filter((value) => typeof value === 'number');
  if (kind === 'number') return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  return count === 1 ? firstValue : `${count} values`;
}

/** Returns the mean return that the server computed; for other fields, or if there is none yet, `groupValue`. */
export const cellValue = (group: Group, key: string, figures: GroupMeans | undefined): Value =>
  (key === 'observed' || key === 'confirmed' ? figures?.[key]?.mean : undefined) ??
  groupValue(group.items, fieldOf(key));

/** @param sort a key, or `name` for the values of the keys; a leading `-` means descending order */
export function sortGroups(
  groups: readonly Group[],
  sort: string,
  figuresOf: (group: Group) => GroupMeans | undefined,
): readonly Group[] {
  const sign = sort.startsWith('-') ? -1 : 1;
  const key = sort.replace(/^-/, '');
  const compareGroups = (a: Group, b: Group) =>
    a.values.reduce<number>((order, value, i) => order || compareValues(value, b.values[i] ?? null), 0) ||
    compareValues(a.environment, b.environment);
  return groups.toSorted((a, b) =>
    key === 'name'
      ? sign * compareGroups(a, b)
      : compareValues(cellValue(a, key, figuresOf(a)), cellValue(b, key, figuresOf(b)), sign) ||
        compareGroups(a, b),
  );
}
