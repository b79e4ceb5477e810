/** Parses a list of values where a sweep accepts several: `0.2,0.7,1`, `1..10`, `choice(4,8)`, `uniform(0,1)`. */
import { UserError } from '../errors.js';
import { printable } from './issues.js';

/** The values of a key: either a list, or a distribution to draw from. */
export type Values =
  /** Strings as written in YAML; at least one. */
  | { readonly kind: 'list'; readonly items: readonly string[] }
  /** Numbers from `low` to `high`, drawn uniformly or log-uniformly. */
  | { readonly kind: 'uniform' | 'loguniform'; readonly low: number; readonly high: number };

const mostValues = 100_000;

const closing: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')' };

/**
 * Splits a string at its top-level commas (outside brackets, braces, parentheses and quotes). Joining the parts
 * with commas restores the string. If a bracket or quote is unclosed, the string is a single part, and YAML will
 * report the problem.
 */
export function splitTop(text: string): readonly string[] {
  const parts: string[] = [];
  const open: string[] = [];
  let start = 0;
  /** The last non-space character; a quote opens only at the start of a value. */
  let before = '';
  /** Index of the character that closed the last quote or bracket. */
  let closed = -1;
  /** Whether the last colon directly follows a closed quote or bracket; its value may then follow without a space. */
  let endsKey = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    const opensQuote =
      before === '' ||
      /[,[{(]/.test(before) ||
      (before === ':' && (text[i - 1] !== ':' || (endsKey && open.length > 0)));
    if ((char === '"' || char === "'") && opensQuote) {
      const end = endOfQuote(text, i);
      if (end === undefined) return [text];
      closed = i = end;
    } else if (closing[char] !== undefined) open.push(closing[char]);
    else if (char === open.at(-1)) {
      open.pop();
      closed = i;
    } else if (char === ',' && open.length === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
      before = '';
      continue;
    } else if (char === ':') endsKey = closed === i - 1;
    if (char.trim() !== '') before = char;
  }
  return open.length > 0 ? [text] : [...parts, text.slice(start)];
}

/** Index of the quote that closes the quote at `start`, by YAML's rules. */
function endOfQuote(text: string, start: number): number | undefined {
  const quote = text[start]!;
  for (let i = start + 1; i < text.length; i++) {
    if (quote === '"' && text[i] === '\\') i++;
    else if (text[i] === quote) {
      if (quote === '"' || text[i + 1] !== quote) return i;
      i++;
    }
  }
  return undefined;
}

/**
 * The values that a string lists; undefined if it is a single value.
 * @param name used in error messages
 * @throws UserError for an empty part, an invalid range, or wrong arguments of a function such as `choice`
 */
export function valuesOf(text: string, name: string): Values | undefined {
  const parts = splitTop(text).map((part) => part.trim());
  const [only = ''] = parts;
  if (parts.length === 1) {
    const [, word, inside] = /^(choice|uniform|loguniform)\((.*)\)$/s.exec(only) ?? [];
    if (word === 'choice') return { kind: 'list', items: itemsOf(splitTop(inside!), name) };
    if (word !== undefined) return drawn(word as 'uniform' | 'loguniform', splitTop(inside!), name);
    if (!isRange(only)) return undefined;
  }
  return { kind: 'list', items: itemsOf(parts, name) };
}

const number = String.raw`[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const range = new RegExp(String.raw`^(${number})\.\.(${number})$`);
const isRange = (part: string) => range.test(part);
const isDrawn = (part: string) => /^(choice|(log)?uniform)\(.*\)$/s.test(part);

function itemsOf(parts: readonly string[], name: string): readonly string[] {
  return parts
    .map((part) => part.trim())
    .flatMap((part) => {
      if (part === '') throw wrong(name, 'contains an empty value', 'use null for a run without the key');
      if (isDrawn(part))
        throw wrong(
          name,
          `${printable(part)}: can't be combined with other values`,
          'list only plain values, or use only this function',
        );
      return isRange(part) ? numbersOf(part, name) : [part];
    });
}

function numbersOf(part: string, name: string): readonly string[] {
  const [from, to] = range.exec(part)!.slice(1).map(Number) as [number, number];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to))
    throw wrong(
      name,
      `${printable(part)}: ranges are for whole numbers`,
      'list the values, or draw them with uniform(low,high)',
    );
  if (from > to) throw wrong(name, `${printable(part)}: a range must ascend`, `use ${to}..${from}`);
  if (to - from >= mostValues)
    throw wrong(
      name,
      `${printable(part)}: a range can have at most ${mostValues} values`,
      'use a shorter range',
    );
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
}

function drawn(kind: 'uniform' | 'loguniform', parts: readonly string[], name: string): Values {
  const [low = Number.NaN, high = Number.NaN, ...more] = parts.map((part) =>
    part.trim() === '' ? Number.NaN : Number(part),
  );
  const fits = low < high && Number.isFinite(high - low) && (kind === 'uniform' || low > 0);
  if (fits && more.length === 0) return { kind, low, high };
  const asks = kind === 'uniform' ? 'two numbers, the lower first' : 'two numbers above 0, the lower first';
  throw wrong(name, `${kind} takes ${asks}`, `write, for example, ${kind}(0.01,1)`);
}

const wrong = (name: string, message: string, hint: string) => new UserError({ file: name, message, hint });

/**
 * @param texts `key=value`
 * @throws UserError for an override that lists several values, which only a sweep accepts
 */
export function refuseLists(texts: readonly string[]): void {
  for (const text of texts) {
    const equals = text.indexOf('=');
    if (equals < 0) continue;
    const source = text.slice(equals + 1).trim();
    if (splitTop(source).length === 1 && !isRange(source) && !isDrawn(source)) continue;
    throw new UserError({
      field: text.slice(0, equals),
      message: 'lists several values for one run',
      hint: `use policyloop sweep to run each value, or put a string with a comma in quotes: '${text.slice(0, equals)}="…"'`,
    });
  }
}
