/**
 * Finds assignments (`params[3]: -1.5`), lists under a key (`"params": [1, 2]`) and bare lists of numbers in a reply.
 * It knows no spec and decides nothing. Every function is linear in the length of the text.
 */
import { bracket, digit, isAt, joint, letter, mark, minus, newline, skip, space } from './characters.js';

export type Value =
  | { readonly kind: 'number'; readonly value: number; readonly text: string }
  /** Text in the place of a number that is none: NaN, 1.2.3, 1,5 or an expression. */
  | { readonly kind: 'malformed'; readonly text: string }
  /** A word where a number belongs: the name of an action, or the start of an explanation. */
  | { readonly kind: 'word'; readonly text: string }
  /** `<number>`, `...` or `?`, as in the example of the format. */
  | { readonly kind: 'placeholder' };

export type Found =
  | {
      readonly kind: 'assignment';
      readonly index: number;
      readonly value: Value;
      readonly start: number;
      readonly end: number;
    }
  | NumberList;

export interface NumberList {
  readonly kind: 'list';
  /** The first values, as many as were asked for. */
  readonly values: readonly Value[];
  /** How many there are. */
  readonly length: number;
  /** Whether its end was seen. */
  readonly closed: boolean;
  readonly start: number;
  readonly end: number;
}

const key = /param(?:eter)?s?/gi;

/** Calls `visit` for every assignment and every list under a key, in order. Lists keep `capacity` values. */
export function scanReply(text: string, capacity: number, visit: (found: Found) => void): void {
  key.lastIndex = 0;
  for (let match = key.exec(text); match !== null; match = key.exec(text)) {
    const start = match.index;
    if (isAt(text, start - 1, letter | digit)) continue;
    const found =
      readIndexed(text, start, key.lastIndex) ?? readKeyedList(text, start, key.lastIndex, capacity);
    if (found === undefined) continue;
    key.lastIndex = found.end;
    visit(found);
  }
}

function readIndexed(text: string, start: number, afterKey: number): Found | undefined {
  const open = skip(text, afterKey, space | mark, afterKey + 4);
  if (text[open] !== '[') return undefined;
  const first = skip(text, open + 1, space | mark, open + 5);
  const last = skip(text, first, digit, first + 10);
  const close = skip(text, last, space | mark, last + 4);
  if (last === first || text[close] !== ']') return undefined;
  const separator = separatorEnd(text, skipComment(text, skip(text, close + 1, space | mark, close + 17)));
  if (separator < 0) return undefined;
  const read = readValue(text, separator);
  return (
    read && {
      kind: 'assignment',
      index: Number(text.slice(first, last)),
      value: read.value,
      start,
      end: read.end,
    }
  );
}

function readKeyedList(
  text: string,
  start: number,
  afterKey: number,
  capacity: number,
): NumberList | undefined {
  const separator = separatorEnd(text, skip(text, afterKey, space | mark, afterKey + 8));
  if (separator < 0) return undefined;
  const open = skip(text, separator, space | mark | newline, separator + 64);
  const list = text[open] === '[' ? readList(text, open, capacity) : undefined;
  // An unreadable list has length 0, but the text that it covers need not be scanned again.
  return list && { ...list, start };
}

/** Skips one short remark in parentheses and the spaces around it. */
function skipComment(text: string, at: number): number {
  if (text[at] !== '(') return at;
  const end = commentEnd(text, at);
  return end < 0 ? at : skip(text, end, space | mark, end + 16);
}

/** The position after the `)` that closes a short remark on one line; -1 when there is none. */
export function commentEnd(text: string, open: number, limit = 80): number {
  const end = Math.min(text.length, open + limit);
  for (let i = open + 1; i < end; i++) {
    if (text.charCodeAt(i) === closing) return i + 1;
    if (isAt(text, i, newline)) return -1;
  }
  return -1;
}

const closing = ')'.charCodeAt(0);

/** The bar separates the cells of a table: `| params[0] | 1.2 |`. */
const separators = [':=', '==', '=>', '->', ':', '=', '|', '\uff1a', '\uff1d', '\u2192'];

function separatorEnd(text: string, at: number): number {
  const found = separators.find((separator) => text.startsWith(separator, at));
  return found === undefined ? -1 : at + found.length;
}

interface Read {
  readonly value: Value;
  readonly end: number;
}

/** Words that programs write for a number which is none. */
const noNumber = /(?:nan|inf(?:inity)?|null|none|undefined)(?![a-z])/iy;

function readValue(text: string, at: number): Read | undefined {
  const start = skip(text, at, space | mark, at + 32);
  if (text[start] === '<') {
    const end = numberEnd(text, start + 1, false);
    if (end >= 0 && text[end] === '>') return { value: numberValue(text, start + 1, end), end: end + 1 };
  }
  const end = numberEnd(text, start, false);
  if (end < 0) return readWord(text, start);
  if (endsCleanly(text, end)) return { value: numberValue(text, start, end), end };
  const tail = malformedEnd(text, end);
  return { value: { kind: 'malformed', text: text.slice(start, tail) }, end: tail };
}

/** A word that stands for a number, or a placeholder. */
function readWord(text: string, start: number): Read | undefined {
  if (text[start] === '<' || text[start] === '?') {
    const end = skip(text, start + 1, letter | digit | space | mark, start + 24);
    if (text[start] === '?') return { value: { kind: 'placeholder' }, end: start + 1 };
    return text[end] === '>' ? { value: { kind: 'placeholder' }, end: end + 1 } : undefined;
  }
  if (text.startsWith('...', start)) return { value: { kind: 'placeholder' }, end: start + 3 };
  if (text[start] === '\u2026') return { value: { kind: 'placeholder' }, end: start + 1 };
  noNumber.lastIndex = isAt(text, start, minus) || text[start] === '+' ? start + 1 : start;
  if (noNumber.test(text)) {
    return {
      value: { kind: 'malformed', text: text.slice(start, noNumber.lastIndex) },
      end: noNumber.lastIndex,
    };
  }
  const end = skip(text, start, letter, start + 24);
  if (end === start || text.startsWith('param', start)) return undefined;
  return { value: { kind: 'word', text: text.slice(start, end) }, end };
}

/** The position after the number that starts at `start`; -1 when none does. `tight`: no space after its sign. */
function numberEnd(text: string, start: number, tight: boolean): number {
  let position = start;
  if (isAt(text, start, minus) || text[start] === '+') {
    position = tight ? start + 1 : skip(text, start + 1, space, start + 3);
  }
  const whole = skip(text, position, digit);
  const fraction = text[whole] === '.' ? skip(text, whole + 1, digit) : whole;
  // A dot without digits after it ends a sentence and isn't part of the number.
  const end = fraction > whole + 1 ? fraction : whole;
  if (end === position) return -1;
  if (text[end] !== 'e' && text[end] !== 'E') return end;
  const exponent = isAt(text, end + 1, minus) || text[end + 1] === '+' ? end + 2 : end + 1;
  return isAt(text, exponent, digit) ? skip(text, exponent, digit) : end;
}

function numberValue(text: string, start: number, end: number): Value {
  let sign = 1;
  let first = start;
  if (isAt(text, start, minus)) sign = -1;
  if (sign < 0 || text[start] === '+') first = skip(text, start + 1, space);
  const digits = text.slice(first, end);
  let value = Number(digits);
  // Number() knows only the hyphen-minus, which an exponent need not have.
  if (Number.isNaN(value)) value = Number(digits.replace(/[\u2212\u2010-\u2013\ufe63\uff0d]/, '-'));
  const shown = text.slice(start, Math.min(end, start + 24));
  return Number.isFinite(value)
    ? { kind: 'number', value: value === 0 ? 0 : sign * value, text: shown }
    : { kind: 'malformed', text: shown };
}

/** Whether the number ends here: not in `1.2.3`, `1,5`, `3rad`, `50%`, `1/2`, `1.0 + 0.5` or `1 -> 2`. */
function endsCleanly(text: string, end: number): boolean {
  if (isAt(text, end, letter | digit) || text[end] === '%' || text[end] === '\u00b0') return false;
  if (',._'.includes(text[end] ?? ' ')) return !isAt(text, end + 1, digit);
  return operandAfter(text, end) < 0;
}

/** Where the second operand begins when an operator and a digit follow; -1 otherwise. */
function operandAfter(text: string, end: number): number {
  let operator = skip(text, end, space, end + 4);
  if (text.startsWith('->', operator) || text.startsWith('=>', operator)) operator += 1;
  else if (!isAt(text, operator, minus) && !'+*/^=\u00d7\u00f7\u00b1\u2192'.includes(text[operator] ?? ' '))
    return -1;
  const operand = skip(text, operator + 1, space | minus, operator + 5);
  return isAt(text, operand, digit) ? operand : -1;
}

/** The end of a word, or of the last operand of a short expression, that stands instead of a number. */
function malformedEnd(text: string, from: number): number {
  let position = from;
  for (let operands = 0; operands < 4; operands++) {
    const limit = Math.min(text.length, position + 24);
    while (position < limit && !isAt(text, position, space | newline)) position++;
    const next = operandAfter(text, position);
    if (next < 0) break;
    position = next;
  }
  while (position > from && ',;.'.includes(text[position - 1]!)) position--;
  return position;
}

/** Reads numbers within brackets, nested ones too, from the opening bracket on. */
function readList(text: string, open: number, capacity: number): NumberList {
  const values: Value[] = [];
  let length = 0;
  let depth = 0;
  let position = open;
  while (position < text.length) {
    if (text[position] === '[') depth++;
    else if (text[position] === ']') {
      depth--;
      if (depth === 0) return { kind: 'list', values, length, closed: true, start: open, end: position + 1 };
    } else if (!isAt(text, position, space | newline | mark | joint)) {
      const item = readItem(text, position, length < capacity);
      if (item === undefined)
        return { kind: 'list', values: [], length: 0, closed: false, start: open, end: position };
      if (item.value !== undefined) values.push(item.value);
      length++;
      position = item.end;
      continue;
    }
    position++;
  }
  return { kind: 'list', values, length, closed: false, start: open, end: position };
}

/** One item of a list; its value only when it is kept. */
function readItem(text: string, start: number, keep: boolean): { value?: Value; end: number } | undefined {
  const end = numberEnd(text, start, true);
  if (end < 0) return readWord(text, start);
  if (end === text.length || isAt(text, end, space | newline | mark | joint | bracket)) {
    return keep ? { value: numberValue(text, start, end), end } : { end };
  }
  if (!isAt(text, end, letter | digit) && text[end] !== '.') return undefined;
  const tail = skip(text, end, letter | digit);
  const tailEnd = text[tail] === '.' ? skip(text, tail + 1, digit) : tail;
  return {
    value: { kind: 'malformed', text: text.slice(start, Math.min(tailEnd, start + 24)) },
    end: Math.max(tailEnd, end + 1),
  };
}

/**
 * Calls `visit` for every list of numbers that stands at the start of a line without a key: in brackets, or as a
 * line of nothing else.
 */
export function scanBareLists(text: string, capacity: number, visit: (list: NumberList) => void): void {
  let position = 0;
  while (position < text.length) {
    const start = skip(text, position, space | newline | mark);
    const list =
      text[start] === '[' ? readList(text, start, capacity) : readNumberLine(text, start, capacity);
    if (list.length > 0) visit(list);
    position = Math.max(list.end, start + 1);
    while (position < text.length && !isAt(text, position, newline)) position++;
  }
}

function readNumberLine(text: string, start: number, capacity: number): NumberList {
  const values: Value[] = [];
  let length = 0;
  let position = start;
  while (position < text.length && !isAt(text, position, newline)) {
    if (isAt(text, position, space | mark | joint)) {
      position++;
      continue;
    }
    const end = numberEnd(text, position, true);
    if (end < 0 || !(end === text.length || isAt(text, end, space | newline | mark | joint))) {
      return { kind: 'list', values: [], length: 0, closed: false, start, end: position };
    }
    if (length < capacity) values.push(numberValue(text, position, end));
    length++;
    position = end;
  }
  return { kind: 'list', values, length, closed: true, start, end: position };
}
