/** Methods, filters, tests and functions for templates. Jinja's others are rejected by name. */
import {
  type Arguments,
  areEqual,
  bindArguments,
  Callable,
  type Dictionary,
  Generator,
  isTruthy,
  itemsOf,
  type Key,
  lengthOf,
  Namespace,
  textOf,
  toJson,
  typeName,
  unsupported,
  type Value,
} from './values.js';

/** Matches a character that Python's `str.isspace` accepts. */
const space = String.raw`(?!\uFEFF)[\s\x1c-\x1f\x85]`;
const spaces = new RegExp(`(?:${space})+`, 'u');
const spacePattern = new RegExp(`^${space}$`, 'u');

function strip(text: string, characters: Value, atStart: boolean, atEnd: boolean): string {
  const set = new Set(characters == null ? [] : stringOf(characters));
  const isStripped = (char: string) => (characters == null ? spacePattern.test(char) : set.has(char));
  const chars = Array.from(text);
  let [from, to] = [0, chars.length];
  while (atStart && from < to && isStripped(chars[from]!)) from++;
  while (atEnd && to > from && isStripped(chars[to - 1]!)) to--;
  return chars.slice(from, to).join('');
}

function stringOf(value: Value): string {
  return typeof value === 'string'
    ? value
    : unsupported(`a value of type ${typeName(value)} where a string is expected`);
}

function numberOf(value: Value): number {
  return typeof value === 'number'
    ? value
    : unsupported(`a value of type ${typeName(value)} where a number is expected`);
}

function requireAscii(text: string): string {
  return /^\p{ASCII}*$/u.test(text) ? text : unsupported('`capitalize` or `title` of non-ASCII text');
}

const capitalize = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase();

/** Computes Python's `text.split(separator, limit)`. */
function split(text: string, separator: Value, limit: Value = -1): string[] {
  const maxSplits = numberOf(limit);
  if (separator == null) {
    if (maxSplits >= 0) unsupported('`split` by white space with a limit');
    return text.split(spaces).filter((part) => part !== '');
  }
  if (separator === '') throw new Error('empty separator');
  const parts = text.split(stringOf(separator));
  return maxSplits < 0 || parts.length <= maxSplits
    ? parts
    : [...parts.slice(0, maxSplits), parts.slice(maxSplits).join(stringOf(separator))];
}

const replace = (text: string, from: Value, to: Value, count: Value) =>
  split(text, from, count).join(stringOf(to));

const matchesAny = (value: Value, test: (part: string) => boolean): boolean =>
  (Array.isArray(value) ? (value as readonly Value[]) : [value]).some((part) => test(stringOf(part)));

const splitNames = (names: string) => names.split(' ').filter((name) => name !== '');

type Method<T> = (self: T, args: readonly Value[]) => Value;
const methodsOf = <T>(table: Record<string, readonly [names: string, run: Method<T>]>) =>
  new Map(Object.entries(table).map(([name, [names, run]]) => [name, { names: splitNames(names), run }]));

const textMethods = methodsOf<string>({
  strip: ['chars', (text, [chars]) => strip(text, chars, true, true)],
  lstrip: ['chars', (text, [chars]) => strip(text, chars, true, false)],
  rstrip: ['chars', (text, [chars]) => strip(text, chars, false, true)],
  split: ['sep maxsplit', (text, [separator, limit]) => split(text, separator, limit)],
  replace: ['old new count', (text, [from, to, count]) => replace(text, from, to, count)],
  startswith: ['prefix', (text, [parts]) => matchesAny(parts, (part) => text.startsWith(part))],
  endswith: ['suffix', (text, [parts]) => matchesAny(parts, (part) => text.endsWith(part))],
  upper: ['', (text) => text.toUpperCase()],
  lower: ['', (text) => text.toLowerCase()],
  capitalize: ['', (text) => capitalize(requireAscii(text))],
  title: ['', (text) => requireAscii(text).replaceAll(/[A-Za-z]+/g, capitalize)],
});

const pairs = (map: Value): Value[] =>
  map instanceof Map
    ? [...map].map(([key, value]) => [key, value])
    : unsupported(`\`items\` of ${typeName(map)}`);

const mapMethods = methodsOf<Dictionary>({
  get: ['key default', (map, [key, other = null]) => (map.has(key as Key) ? map.get(key as Key) : other)],
  items: ['', pairs],
  keys: ['', (map) => [...map.keys()]],
  values: ['', (map) => [...map.values()]],
});

/** Python's other string and dictionary methods. Jinja supports them, so they can't be treated as undefined. */
const otherMethods = new Set(
  splitNames(
    'casefold center clear copy count encode expandtabs find format format_map fromkeys index isalnum isalpha isascii ' +
      'isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust maketrans ' +
      'partition pop popitem removeprefix removesuffix rfind rindex rjust rpartition rsplit setdefault splitlines ' +
      'swapcase translate update zfill',
  ),
);

function methodOf(value: Value, name: string): Callable | undefined {
  const bind = <T>(self: T, { names, run }: { names: readonly string[]; run: Method<T> }) =>
    new Callable((args) => run(self, bindArguments(args, names)));
  if (typeof value === 'string') {
    const method = textMethods.get(name);
    return method && bind(value, method);
  }
  const method = value instanceof Map ? mapMethods.get(name) : undefined;
  return method && bind(value as Dictionary, method);
}

/** Evaluates `value.key` if `dotted`, where methods take precedence; otherwise `value[key]`. */
export function itemOf(value: Value, key: Value, dotted: boolean): Value {
  if (value === undefined) throw new Error(`undefined has no attribute \`${textOf(key)}\``);
  if (typeof key === 'number' && (typeof value === 'string' || Array.isArray(value)))
    return itemsOf(value).at(key);
  if (typeof key === 'string') {
    const attributes = value instanceof Namespace ? value.attributes : value;
    const method = methodOf(value, key);
    const isMethod =
      !(value instanceof Namespace) &&
      (method !== undefined || otherMethods.has(key) || key.startsWith('__'));
    if (attributes instanceof Map && attributes.has(key) && !(dotted && isMethod)) return attributes.get(key);
    if (method !== undefined) return method;
    const isOpen = attributes instanceof Map || typeof value === 'string';
    if (isOpen && !isMethod && !(value instanceof Namespace && value.isPartial)) return undefined;
  }
  return unsupported(`\`${textOf(key)}\` of ${typeName(value)}`);
}

type JinjaTest = (value: Value, other: Value) => boolean;
const isWhole = (value: Value) => typeof value === 'number';

const tests: ReadonlyMap<string, JinjaTest> = new Map<string, JinjaTest>([
  ['defined', (value) => value !== undefined],
  ['undefined', (value) => value === undefined],
  ['none', (value) => value === null],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['boolean', (value) => typeof value === 'boolean'],
  ['integer', isWhole],
  ['number', (value) => isWhole(value) || typeof value === 'boolean'],
  ['string', (value) => typeof value === 'string'],
  ['mapping', (value) => value instanceof Map],
  ['iterable', (value) => isSequence(value) || value instanceof Generator],
  ['sequence', (value) => isSequence(value)],
  ['callable', (value) => value instanceof Callable],
  ['odd', (value) => numberOf(value) % 2 !== 0],
  ['even', (value) => numberOf(value) % 2 === 0],
  ['equalto', areEqual],
  ['eq', areEqual],
  ['==', areEqual],
  ['ne', (value, other) => !areEqual(value, other)],
  ['!=', (value, other) => !areEqual(value, other)],
  ['in', (value, other) => itemsOf(other).some((one) => areEqual(one, value))],
]);

const isSequence = (value: Value) =>
  value === undefined || typeof value === 'string' || Array.isArray(value) || value instanceof Map;

export const testOf = (name: string): JinjaTest => tests.get(name) ?? unsupported(`the test \`${name}\``);

type Filter = (value: Value, args: Arguments) => Value;
const toFilter =
  (names: string, run: Method<Value>): Filter =>
  (value, args) =>
    run(value, bindArguments(args, splitNames(names)));

/** Reads an attribute by the name that a filter was given; names with dots aren't supported. */
const attributeOf = (item: Value, name: Value): Value =>
  stringOf(name).includes('.') ? unsupported(`the attribute \`${textOf(name)}\``) : itemOf(item, name, false);

const selectItems =
  (keep: boolean): Filter =>
  (value, { positional: [attribute, name, other], named }) => {
    if (named.size > 0) unsupported('a named argument of `selectattr` or `rejectattr`');
    const test: JinjaTest = name === undefined ? isTruthy : testOf(stringOf(name));
    const items = isTruthy(value) ? itemsOf(value) : [];
    return new Generator(items.filter((item) => test(attributeOf(item, attribute), other) === keep));
  };

const lengthFilter = toFilter('', lengthOf);
const defaultFilter = toFilter('default_value boolean', (value, [other = '', replacesFalsy]) =>
  value === undefined || (isTruthy(replacesFalsy) && !isTruthy(value)) ? other : value,
);

const filterTable: Record<string, Filter> = {
  length: lengthFilter,
  count: lengthFilter,
  default: defaultFilter,
  d: defaultFilter,
  trim: toFilter('chars', (value, [chars]) => strip(textOf(value), chars, true, true)),
  upper: toFilter('', (value) => textOf(value).toUpperCase()),
  lower: toFilter('', (value) => textOf(value).toLowerCase()),
  capitalize: toFilter('', (value) => capitalize(requireAscii(textOf(value)))),
  string: toFilter('', textOf),
  list: toFilter('', itemsOf),
  first: toFilter('', (value) => itemsOf(value)[0]),
  last: toFilter('', (value) => itemsOf(lengthOf(value) > 0 ? value : []).at(-1)),
  reverse: toFilter('', (value) => {
    const items = itemsOf(value).toReversed();
    return typeof value === 'string' ? items.join('') : new Generator(items);
  }),
  items: toFilter('', (value) => new Generator(value === undefined ? [] : pairs(value))),
  join: toFilter('d', (value, [separator]) => itemsOf(value).map(textOf).join(textOf(separator))),
  replace: toFilter('old new count', (value, [from, to, count]) => replace(textOf(value), from, to, count)),
  int: toFilter('', (value) => {
    if (typeof value === 'boolean') return Number(value);
    return Number(
      /^[+-]?\d{1,15}$/.test(textOf(value)) ? textOf(value) : unsupported(`\`int\` of ${typeName(value)}`),
    );
  }),
  tojson: toFilter('ensure_ascii indent', (value, [ascii, indent]) =>
    isTruthy(ascii) ? unsupported('`ensure_ascii`') : toJson(value, Math.min(8, Number(indent ?? 0))),
  ),
  selectattr: selectItems(true),
  rejectattr: selectItems(false),
  map: (value, { positional, named }) => {
    if (positional.length > 0) unsupported('`map` with the name of a filter');
    const [attribute] = bindArguments({ positional, named }, ['attribute']);
    return new Generator((isTruthy(value) ? itemsOf(value) : []).map((item) => attributeOf(item, attribute)));
  },
};
const filters = new Map(Object.entries(filterTable));

export const filterOf = (name: string): Filter => filters.get(name) ?? unsupported(`the filter \`${name}\``);

const maxRangeLength = 100_000;

/** Creates the variable `loop` in iteration `i` (0-based) of a loop. */
export function loopState(items: readonly Value[], i: number): Namespace {
  const state: Record<string, Value> = {
    index: i + 1,
    index0: i,
    revindex: items.length - i,
    revindex0: items.length - i - 1,
    first: i === 0,
    last: i === items.length - 1,
    length: items.length,
    previtem: items[i - 1],
    nextitem: items[i + 1],
    cycle: new Callable(({ positional }) => positional[i % positional.length]),
  };
  return new Namespace(new Map(Object.entries(state)), true);
}

export const jinjaFunctions: ReadonlyMap<string, Value> = new Map([
  [
    'namespace',
    new Callable(({ positional, named }) => {
      if (positional.length > 0) unsupported('`namespace` with an unnamed argument');
      return new Namespace(new Map(named));
    }),
  ],
  [
    'range',
    new Callable(({ positional }) => {
      const numbers = positional.map((bound) => numberOf(bound));
      const [start, stop, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers;
      const length = Math.max(0, Math.ceil((stop! - start!) / step));
      if (!(length <= maxRangeLength)) throw new Error(`a range has more than ${maxRangeLength} numbers`);
      return Array.from({ length }, (_, i) => start! + i * step);
    }),
  ],
]);
