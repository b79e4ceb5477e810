/** Values in chat templates, which follow Python's rules. */

/** Python's lists and tuples become arrays, `None` becomes null, and Jinja's undefined becomes undefined. */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | Dictionary
  | Namespace
  | Generator
  | Callable;
export type Key = string | number;
export type Dictionary = ReadonlyMap<Key, Value>;

export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

export class Callable {
  constructor(readonly call: (args: Arguments) => Value) {}
}

/** An object whose attributes `set` may change, or the variable `loop`. */
export class Namespace {
  constructor(
    readonly attributes: Map<string, Value>,
    /** True if the object has more attributes in Jinja, which aren't supported. */
    readonly isPartial = false,
  ) {}
}

/** The result of filters such as `map`: truthy, without a length, and empty once it has been iterated. */
export class Generator {
  #items: readonly Value[];
  constructor(items: readonly Value[]) {
    this.#items = items;
  }
  take(): readonly Value[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}

/** A construct that isn't supported, because the rendered text could differ from Transformers'. */
export class UnsupportedError extends Error {
  override readonly name = 'UnsupportedError';
}

export function unsupported(construct: string): never {
  throw new UnsupportedError(construct);
}

/** @returns the arguments, in the order of `names` */
export function bindArguments({ positional, named }: Arguments, names: readonly string[]): readonly Value[] {
  const invalidName = [...named.keys()].find((name) => names.indexOf(name) < positional.length);
  if (invalidName !== undefined) unsupported(`the argument \`${invalidName}\``);
  if (positional.length > names.length) unsupported(`a call with ${positional.length} arguments`);
  return names.map((name, i) => (i < positional.length ? positional[i] : named.get(name)));
}

export function typeName(value: Value): string {
  if (value === null) return 'None';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'dict';
  return typeof value === 'object' ? value.constructor.name.toLowerCase() : typeof value;
}

export function isTruthy(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return Boolean(value);
}

/** Computes Python's `str(value)`; undefined becomes ''. @throws UnsupportedError for lists and objects */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'number') return String(requireInteger(value));
  return unsupported(`a value of type ${typeName(value)} as text`);
}

export function requireInteger(value: number): number {
  if (Number.isSafeInteger(value)) return value + 0;
  return unsupported(`the number ${value}, which is not a whole number below 2^53`);
}

const isNumeric = (value: Value): value is number | boolean =>
  typeof value === 'number' || typeof value === 'boolean';

/** Computes Python's `a == b`. */
export function areEqual(a: Value, b: Value): boolean {
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => areEqual(item as Value, b[i] as Value));
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && [...a].every(([key, item]) => b.has(key) && areEqual(item, b.get(key)));
  return a === b;
}

function compare(a: Value, b: Value): number {
  if (isNumeric(a) && isNumeric(b)) return Number(a) - Number(b);
  // UTF-8 bytes sort by code point, as Python's strings do.
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return unsupported(`a comparison of ${typeName(a)} with ${typeName(b)}`);
}

/** Returns the items that a loop over the value visits. */
export function itemsOf(value: Value): readonly Value[] {
  if (value === undefined) return [];
  if (typeof value === 'string') return Array.from(value);
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.keys()];
  if (value instanceof Generator) return value.take();
  throw new Error(`a value of type ${typeName(value)} can't be iterated over`);
}

export function lengthOf(value: Value): number {
  if (value instanceof Generator) throw new Error('a generator has no length');
  return itemsOf(value).length;
}

function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item === 'string') return container.includes(item);
    throw new Error(`a text can't contain a value of type ${typeName(item)}`);
  }
  return itemsOf(container).some((one) => areEqual(one, item));
}

/** Computes Python's `items[start:stop:step]`. */
export function slice<T>(items: readonly T[], bounds: readonly Value[]): T[] {
  const numbers = bounds.map((bound) => {
    if (bound === undefined || bound === null) return undefined;
    return typeof bound === 'number' ? bound : unsupported(`a slice bound of type ${typeName(bound)}`);
  });
  const step = numbers[2] ?? 1;
  if (step === 0) throw new Error('slice step cannot be zero');
  const [low, high] = step > 0 ? [0, items.length] : [-1, items.length - 1];
  const clip = (bound: number) => Math.min(high, Math.max(low, bound < 0 ? bound + items.length : bound));
  const start = numbers[0] === undefined ? (step > 0 ? low : high) : clip(numbers[0]);
  const stop = numbers[1] === undefined ? (step > 0 ? high : low) : clip(numbers[1]);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return Array.from({ length: count }, (_, i) => items[start + i * step]!);
}

/** Computes Python's `json.dumps(value, ensure_ascii=False, indent=indent)`; 0 writes a single line. */
export function toJson(value: Value, indent = 0, depth = 1): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(requireInteger(value)) : JSON.stringify(value);
  const isList = Array.isArray(value);
  if (!isList && !(value instanceof Map))
    throw new Error(`a value of type ${typeName(value)} has no JSON form`);
  const itemJson = (item: Value) => toJson(item, indent, depth + 1);
  const items = isList
    ? value.map(itemJson)
    : [...value].map(([key, item]) => `${JSON.stringify(String(key))}: ${itemJson(item)}`);
  const line = (level: number) => `\n${' '.repeat(indent * level)}`;
  const text =
    indent > 0 && items.length > 0
      ? line(depth) + items.join(`,${line(depth)}`) + line(depth - 1)
      : items.join(', ');
  return isList ? `[${text}]` : `{${text}}`;
}

/** Converts a JavaScript value to a template value: objects become dictionaries. */
export function toValue(raw: unknown): Value {
  if (Array.isArray(raw)) return raw.map(toValue);
  if (typeof raw === 'object' && raw !== null)
    return new Map(Object.entries(raw).map(([key, item]) => [key, toValue(item)]));
  return raw as Value;
}

/** Computes `a operator b`, for operators other than `and` and `or`. */
export function calculate(operator: string, a: Value, b: Value): Value {
  if (operator === '==' || operator === '!=') return areEqual(a, b) === (operator === '==');
  if (operator === 'in' || operator === 'not in') return contains(b, a) === (operator === 'in');
  if (operator === '~') return textOf(a) + textOf(b);
  if (operator === '+' && typeof a === 'string' && typeof b === 'string') return a + b;
  if (operator === '+' && Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  if (operator === '*' && typeof a === 'string' && typeof b === 'number' && a.length * b < 1e6)
    return a.repeat(Math.max(0, b));
  if (/[<>]/.test(operator)) {
    const sign = Math.sign(compare(a, b));
    return sign === 0 ? operator.endsWith('=') : sign < 0 === operator.startsWith('<');
  }
  if (!isNumeric(a) || !isNumeric(b))
    unsupported(`\`${operator}\` between ${typeName(a)} and ${typeName(b)}`);
  const operation = arithmetic[operator] ?? unsupported(`the operator \`${operator}\``);
  return requireInteger(operation(Number(a), Number(b)));
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new Error('division by zero');
  return divisor;
}

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': (a, b) => Math.floor(a / nonZero(b)),
  '%': (a, b) => a - b * Math.floor(a / nonZero(b)),
};
