/** Filters for lists: words, and `key=value` with patterns and ranges. */
import { distance } from 'fastest-levenshtein';
import { isMatch } from '../../base/pattern.js';
import { aliases, type Field, fieldOf, isSettingKey, itemFields } from './fields.js';
import type { Item } from './item.js';

export interface Filter {
  readonly accepts: (item: Item) => boolean;
  /** Messages about invalid parts; `accepts` ignores these parts. */
  readonly problems: readonly string[];
  /** The config keys that the filter uses. */
  readonly settingKeys: readonly string[];
}

/** @param configKeys keys in the configs; undefined until they are loaded */
export function parseFilter(text: string | readonly string[], configKeys?: readonly string[]): Filter {
  const tests: ((item: Item) => boolean)[] = [];
  const problems: string[] = [];
  const settingKeys: string[] = [];
  for (const part of typeof text === 'string' ? text.split(/\s+/).filter(Boolean) : text) {
    const test = testOf(part, configKeys);
    if (typeof test === 'string') problems.push(test);
    else {
      tests.push(test.accepts);
      if (test.key !== undefined && isSettingKey(test.key)) settingKeys.push(test.key);
    }
  }
  return { accepts: (item) => tests.every((test) => test(item)), problems, settingKeys };
}

type ItemTest = { readonly accepts: (item: Item) => boolean; readonly key?: string };

/** A test, or an error message. */
function testOf(part: string, configKeys: readonly string[] | undefined): ItemTest | string {
  const [, key = '', sign, value = ''] = /^([\w.-]*?)(!=|[<>]=?|={1,2})(.*)$/s.exec(part) ?? [];
  if (sign === undefined) return { accepts: wordTest(part) };
  if (key === '' || value === '')
    return `“${part}” is incomplete: write key=value without spaces, such as status=running`;
  if (sign !== '=')
    return `“${part}”: filters support only =, not ${sign}${/[<>]/.test(sign) ? `. For ranges, write ${key}=400.. (at least), ${key}=..400 (at most) or ${key}=100..400` : ''}`;
  const field = fieldOf(key);
  if (!isKnownField(field, configKeys)) return unknownKeyMessage(key, configKeys ?? []);
  const accepts = valueTest(field, key, value);
  return typeof accepts === 'string' ? accepts : { accepts, key: field.key };
}

function wordTest(word: string): ItemTest['accepts'] {
  const lowerWord = word.toLowerCase();
  return ({ environment, kind, model, name, status, tags }) =>
    [name, kind, status, environment ?? '', model ?? '', ...tags].some((text) =>
      text.toLowerCase().includes(lowerWord),
    );
}

/** @param name the key as the user typed it */
function valueTest(field: Field, name: string, value: string): ItemTest['accepts'] | string {
  const { key, kind, get, values } = field;
  const range = rangeOf(value);
  switch (kind) {
    case 'number':
      if (range === undefined || !range.every((end) => end === '' || isNumber(end)))
        return `${name} must be a number or a range of numbers, such as 400, 400.., ..400 or 100..400, not “${value}”`;
      return rangeTest(get, range);
    case 'time': {
      if (range === undefined || !range.every((end) => /^(\d{4}(-\d\d(-\d\d(T[\d:.Z]*)?)?)?)?$/.test(end)))
        return `${name} must be a date or a range of dates, such as 2026-01, 2026-01-31.. or 2026-01-01..2026-01-31, not “${value}”`;
      const [first, last] = range;
      return (item) => {
        const itemValue = get(item);
        // An upper end such as 2026-01 includes every time that begins with it.
        return itemValue !== null && itemValue >= first && (last === '' || itemValue <= `${last}\uffff`);
      };
    }
    case 'setting':
      if (range?.some(isNumber) && range.every((end) => end === '' || isNumber(end)))
        return rangeTest(get, range);
      return textTest(get, value);
    case 'text':
      if (values && !values.some((known) => isMatch(value.toLowerCase(), known)))
        return `${name} must be one of ${values.join(', ')}, not “${value}”`;
      return key === 'tag' ? ({ tags }) => tags.some(patternTest(value)) : textTest(get, value);
  }
}

const isNumber = (text: string) => text !== '' && Number.isFinite(Number(text));

/** The ends of `a..b`, `a..`, `..b` or `a`; an end may be empty, but not both. */
function rangeOf(value: string): readonly [string, string] | undefined {
  const [first = '', last = first, ...more] = value.split('..');
  return more.length > 0 || (first === '' && last === '') ? undefined : [first, last];
}

function rangeTest(get: Field['get'], [first, last]: readonly [string, string]): ItemTest['accepts'] {
  const [low, high] = [first === '' ? -Infinity : Number(first), last === '' ? Infinity : Number(last)];
  return (item) => {
    const itemValue = get(item);
    return typeof itemValue === 'number' && itemValue >= low && itemValue <= high;
  };
}

const patternTest = (pattern: string) => (text: string) => isMatch(pattern.toLowerCase(), text.toLowerCase());

function textTest(get: Field['get'], pattern: string): ItemTest['accepts'] {
  return (item) => {
    const itemValue = get(item);
    return itemValue !== null && patternTest(pattern)(String(itemValue));
  };
}

/** True for fields, config keys and config sections; true for any key until the config keys are loaded. */
export const isKnownField = ({ key, kind }: Field, configKeys: readonly string[] | undefined): boolean =>
  kind !== 'setting' || (configKeys?.some((name) => name === key || name.startsWith(`${key}.`)) ?? true);

export function unknownKeyMessage(key: string, configKeys: readonly string[]): string {
  const fieldKeys = itemFields.map((field) => field.key);
  const near = [...fieldKeys, ...Object.keys(aliases), ...configKeys].find(
    (name) => name.endsWith(`.${key}`) || distance(name, key) <= Math.min(2, key.length / 2),
  );
  const keyHelp = `use a field (${fieldKeys.join(', ')}) or a config key such as ${configKeys[0] ?? 'model.temperature'}`;
  return `“${key}” is neither a field nor a config key of these runs; ${near === undefined ? keyHelp : `did you mean ${near}?`}`;
}
