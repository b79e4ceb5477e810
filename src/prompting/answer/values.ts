/** Parses a single value of a set, and checks that the text after it doesn't change its meaning. */
export interface Value {
  /** As written in the reply, at most 24 characters. */
  readonly text: string;
  /** Absent if the text isn't a plain number: NaN, `1,5`, `50 %`, a range, a word, `<number>`. */
  readonly number?: number;
}

/** A set of parameters as written, possibly incomplete. */
export interface WrittenSet {
  readonly values: ReadonlyMap<number, Value>;
  /** Indices given twice with different values. */
  readonly conflicts: readonly number[];
  readonly start: number;
  readonly end: number;
  /** `params`: the values have names, or the list has one such as `params` or `answer`; `other`: it has another. */
  readonly naming: 'params' | 'other' | 'none';
}

const digits = String.raw`(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const whole = new RegExp(String.raw`^(?!-0\.$)[+-]? {0,2}${digits}\.?$`);
const leading = new RegExp(`["'(<{[]?([+-]? {0,2}${digits})`, 'y');
const pairs = `()<>{}[]""''`;
const placeholder = /^(?:<[^<>\d][^<>]{0,40}>|\?+|\.{3}|\u2026|_{2,})$/;

export const isPlaceholder = ({ text }: Value): boolean => placeholder.test(text);
export const isWord = ({ number, text }: Value): boolean =>
  number === undefined && /^(?!(?:nan|inf|null|none)\b)(?:\p{L}|\d+(?:st|nd|rd|th)\b)/iu.test(text);

export function wholeValue(text: string): Value {
  const inner = text.trim().replace(/^(["'])(.*)\1$/s, '$2');
  const number = whole.test(inner) ? Number(inner.replaceAll(' ', '')) : Number.NaN;
  return { text: inner.slice(0, 24), ...(Number.isFinite(number) && { number: number + 0 }) };
}

const expected = '(?:predict|expect|estimat)(?:ed|s)?[ _]';
const scored = String.raw`(?:f ?\( ?param\w* ?\)|f(?=["']?\s?[=:])|(?:scor|return|reward|fitness)\w*|${expected}\w+)["'*]{0,3}`;
const amount = String.raw`(?:[\s:=\u2248~|]|\b(?:is|of|about|around)\b){0,8}([+-]?${digits})(?![\d.]*[-%\w])`;
const score = new RegExp(
  String.raw`^["'\s\]}),;|.\u2014\u2192>-]{0,16}\(?(?:(?:with|an?|the|mean|${expected.slice(0, -4)})[ _]{1,4}){0,4}["']?${scored}(?:${amount})?`,
  'i',
);
const prediction = new RegExp(
  String.raw`(?:["'](?:f|score|return|reward|fitness)["']\s{0,4}:|\b${expected}${scored})${amount}`,
  'i',
);
const numberOf = (text = 'none') => (Number.isFinite(Number(text)) ? Number(text) + 0 : undefined);

/** The score at the start of `text`; undefined if there is none, null if it isn't a number. */
export function scoreAt(text: string): number | null | undefined {
  const found = score.exec(text.slice(0, 160));
  return found === null ? undefined : (numberOf(found[1]) ?? null);
}

/** The predicted score in the text after a set, such as `Expected return: 95` or `"score": 24`. */
export const predictionIn = (text: string): number | undefined => numberOf(prediction.exec(text)?.[1]);

/** Parses the value at `at`. `next`: start of the next key or, for the last value on a line, the end of the line. */
export function valueAt(text: string, at: number, next: number, isLast: boolean): Value & { end: number } {
  leading.lastIndex = at;
  const found = leading.exec(text);
  if (found === null) {
    const other = /^(?:<[^<>]{0,40}>|\?+|\.{3}|[^,;|\n]*)/.exec(text.slice(at, Math.min(next, at + 60)))![0];
    return { text: other.trim().slice(0, 24), end: at + other.length };
  }
  const end = at + found[0].length;
  const tail = text.slice(end, Math.min(next, end + 200));
  const mate = found[0] === found[1] ? '' : pairs[pairs.indexOf(text[at]!) + 1]!;
  if (tail.startsWith(mate) && !spoils(tail.slice(mate.length), isLast, found[1]!))
    return { ...wholeValue(found[1]!), end };
  const { length } = /^(?:,\d|[^,;|\n(])*/.exec(tail)![0].trimEnd();
  return { text: text.slice(at, end + length).slice(0, 24), end: end + length };
}

/** Words that make a number part of an expression, as in `1 to 2` or `2 times ten`. */
const operation = /^(?:to|or|and|x|times|plus|minus|by|per|e|pi|negat\w+|maybe|param\w*)(?![\p{L}\p{N}])/iu;

/** Whether the text after a number changes its meaning: a unit, an operator, more digits, a decimal comma. */
function spoils(tail: string, isLast: boolean, number: string): boolean {
  for (let left = tail; ; ) {
    if (isLast && scoreAt(left) !== undefined) return false;
    left = left.replace(/^[)\]}]+/, '');
    const rest = left.trimStart();
    const isSpaced = rest !== left;
    const [sign = ''] = rest;
    if (',;|&'.includes(sign)) return /^[,;|&] ?[+-]?\.?\d/.test(rest);
    if (/^(?:#|\/\/|<[/!|]|\\|\u2014)/.test(rest)) return false;
    if (sign === '.') {
      if (number === '-0' || (!number.includes('.') && /^\. ?\d/.test(rest))) return true;
      return !/^\.(?:[\s,;)\]]|$|\p{Script=Han})/u.test(rest) && !(isSpaced && /^\.+$/.test(rest));
    }
    if (sign === ':' || (sign === '-' && isSpaced)) return !/^[:-]-?\s+\D/.test(rest);
    if (sign === '(') {
      const remark = rest.slice(1, rest.indexOf(')'));
      if (!rest.includes(')') || operation.test(remark) || /^\W*[\d.]+\W*$/.test(remark)) return true;
      left = rest.slice(remark.length + 2);
    } else if (/^\p{Script=Han}/u.test(rest)) return !isLast;
    else if (/^\p{L}/u.test(rest)) return !isSpaced || isQuantity(rest, isLast);
    else return !isSpaced || /^[\p{N}\p{Sm}\p{Sc}%+*/^~?!\u00b0\u2030]/u.test(rest);
  }
}

/** Whether the words after a number belong to it: true for `cm` and `to 4`, false for a longer remark. */
function isQuantity(text: string, isLast: boolean): boolean {
  const phrase = /^[^,;|:\n(#]*?(?=$|[,;|:\n(#]|[.!?](?:\s|$))/.exec(text)![0].trim();
  if (/^(?:and|or)$/.test(phrase) && !isLast) return false;
  if (operation.test(phrase)) return true;
  if (/^[a-z]+(?:\/\w+)?$/i.test(phrase))
    return !isLast || !(text[phrase.length] === ':' || /^(?:next|now)$/i.test(phrase));
  return isLast ? /^\S+\s+(?:\S+\s+)?[+-]?\.?\d/.test(phrase) : /\d/.test(phrase);
}
