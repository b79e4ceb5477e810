/** Fields of items, which lists show as columns and use to filter, sort and group. */
import { type Item, itemKinds, itemStatuses } from './item.js';

export type Value = string | number | null;

export interface Field {
  readonly key: string;
  readonly title: string;
  readonly kind: 'text' | 'number' | 'time' | 'setting';
  readonly get: (item: Item) => Value;
  /** All possible values, if there are only a few. */
  readonly values?: readonly string[];
}

const text = (key: string, get: Field['get'], values?: readonly string[]): Field => ({
  key,
  title: key,
  kind: 'text',
  get,
  ...(values && { values }),
});
const number = (key: string, get: Field['get']): Field => ({ key, title: key, kind: 'number', get });

/** Fields that every item has; all other keys are config keys. */
export const itemFields: readonly Field[] = [
  text('name', ({ name }) => name),
  text('kind', ({ kind }) => kind, itemKinds),
  text('status', ({ status }) => status, itemStatuses),
  text('environment', ({ environment }) => environment),
  text('model', ({ model }) => model),
  text('tag', ({ tags }) => tags.join(' ') || null),
  number('seed', ({ seed }) => seed),
  number('iterations', ({ done }) => done),
  number('progress', ({ done, of }) => (of === 0 ? 0 : done / of)),
  number('observed', ({ observed }) => observed),
  number('confirmed', ({ confirmed }) => confirmed),
  number('calls', ({ calls }) => calls),
  number('tokens', ({ tokens }) => tokens),
  number('cost', ({ cost }) => cost),
  number('minutes', ({ minutes }) => minutes),
  { key: 'started', title: 'started (UTC)', kind: 'time', get: ({ started }) => started },
];

/** Other names of fields. */
export const aliases: Readonly<Record<string, string>> = { best: 'observed', done: 'progress', tags: 'tag' };

const fieldByKey = new Map(itemFields.map((field) => [field.key, field]));

/** True for config keys; the view's server sends their values only on request. */
export const isSettingKey = (key: string): boolean => fieldOf(key).kind === 'setting';

/** Returns the field with this key. A key that isn't a field's is a config key, such as `model.temperature`. */
export function fieldOf(key: string): Field {
  const field = fieldByKey.get(aliases[key] ?? key);
  if (field !== undefined) return field;
  return { key, title: key, kind: 'setting', get: ({ settings }) => settingOf(settings, key) };
}

/** The value as a number if possible, so that it is sorted and grouped as one. */
function settingOf(settings: Item['settings'], key: string): Value {
  const value = settings && Object.hasOwn(settings, key) ? settings[key] : undefined;
  if (value === undefined) return null;
  return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Orders numbers before texts, and missing values last. @param sign -1 for descending order of numbers and texts */
export function compareValues(a: Value, b: Value, sign = 1): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a === b ? 0 : sign * (a < b ? -1 : 1);
}

/** @param sort a key; a leading `-` means descending order */
export function sortItems(items: readonly Item[], sort: string): readonly Item[] {
  const isDescending = sort.startsWith('-');
  const { get } = fieldOf(isDescending ? sort.slice(1) : sort);
  return items.toSorted(
    (a, b) => compareValues(get(a), get(b), isDescending ? -1 : 1) || compareValues(a.name, b.name),
  );
}
