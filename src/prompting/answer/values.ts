/** One value and what follows it. After a value only a delimiter may come; what follows else makes another number of it. */

export type Value =
  | { readonly kind: 'number'; readonly value: number; readonly text: string }
  /** Text in the place of a number that is none: NaN, 1.2.3, 1,5, a range or an expression. */
  | { readonly kind: 'malformed'; readonly text: string }
  /** A word where a number belongs: the name of an action, or the start of an explanation. */
  | { readonly kind: 'word'; readonly text: string }
  /** `<number>`, `...` or `?`, as in the example of the format. */
  | { readonly kind: 'placeholder' };

export interface Read {
  readonly value: Value;
  readonly end: number;
}

const number = /[+-]? {0,2}(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const tightNumber = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const placeholder = /<(?!\d)[\w ]{1,24}>|\?+|\.{3}|\u2026|_{2,}/y;
const noNumber = /[+-]?(?:nan|inf(?:inity)?|null|none|undefined)(?![a-z])/iy;
const word = /(?!param)\p{L}[\p{L}\d_-]{0,23}|\d{1,6}(?:st|nd|rd|th)\b/iuy;
const mates: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '<': '>',
  '(': ')',
  '[': ']',
  '{': '}',
};

function matchAt(pattern: RegExp, line: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0];
}

/** The number at a place, as it is written; a sign and its digits may stand apart unless `tight`. */
export const numberAt = (line: string, at: number, tight = false): string | undefined =>
  matchAt(tight ? tightNumber : number, line, at);

export function numberValue(text: string): Value {
  const value = Number(text.replaceAll(' ', ''));
  const shown = text.slice(0, 24);
  return Number.isFinite(value)
    ? { kind: 'number', value: value === 0 ? 0 : value, text: shown }
    : { kind: 'malformed', text: shown };
}

/** The value at a place, brackets and quotes around it included. */
export function readValue(line: string, at: number): Read | undefined {
  const shown = matchAt(placeholder, line, at);
  if (shown !== undefined) return { value: { kind: 'placeholder' }, end: at + shown.length };
  const ordinal = matchAt(word, line, at);
  if (ordinal === undefined || /^\d/.test(ordinal) === false) {
    const mate = mates[line[at] ?? ''];
    const start = mate === undefined ? at : at + 1;
    const text = numberAt(line, start);
    if (text !== undefined) {
      const end = start + text.length;
      if (mate === undefined) return { value: numberValue(text), end };
      if (line[end] === mate) return { value: numberValue(text), end: end + 1 };
      return { value: { kind: 'malformed', text: line.slice(at, end) }, end };
    }
  }
  const none = matchAt(noNumber, line, at);
  if (none !== undefined) return { value: { kind: 'malformed', text: none }, end: at + none.length };
  return ordinal === undefined
    ? undefined
    : { value: { kind: 'word', text: ordinal }, end: at + ordinal.length };
}

/** What follows a value, up to the next key or the end of the line. */
export type Tail =
  /** A delimiter, perhaps with a remark: the next value may follow. */
  | { readonly kind: 'delimiter' }
  /** The end of a sentence, or a remark: nothing more belongs to the set. */
  | { readonly kind: 'end'; readonly at: number }
  /** The score of the values, or what was made of them: they are quoted. */
  | { readonly kind: 'score' }
  /** The sentence goes on: it only speaks of the value. */
  | { readonly kind: 'prose' }
  /** Something that makes another number of it; `at` is its end. */
  | { readonly kind: 'malformed'; readonly at: number };

const score = /^[\s,;|>-]*f ?\( ?param(?:eter)?s? ?\)/i;
/** First words of a remark that needs no sign before it. */
const conjunctions = /^(?:because|since|as|for|so that|so|which|while|where|when|in order|due to|given)\b/i;
/** First words that make another number of a value. */
const quantities =
  /^(?:to|or|x|times|plus|minus|e|exp|pi|pm|cdot|through|thru|till|until|up to|and|by|per|over|divided|multiplied|percent|half|point|degrees?|deg|rad|radians?|squared|cubed|thousand|million|billion|hundred|dozen|k|m|cm|mm|s|ms|kg|hz|or so|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b/i;
/** First words of a remark that offer another value. */
const alternatives =
  /^(?:or|maybe|perhaps|alternatively|possibly|(?:to|and|up to|through|till|until|x|times|plus|minus|by|over|e)\s+(?:[+-]?\.?\d|zero|one|two|three|four|five|six|seven|eight|nine|ten|a half|half|pi)|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|half)\s*$)/i;
const otherNumber =
  /\b(?:percent|thousands?|millions?|billions?|hundreds?|negative|negated|minus|times|multiplied|divided|squared|cubed|to the power|ten to|e[- ]?notation|exponent|reciprocal|inverted)\b|[%\u2030\u00b0\u00b1\u00d7\u00f7\u221a\u03c0^]/i;
const indexed = new RegExp(
  [
    String.raw`\b[a-z_]+ ?[[(] ?\d+(?: ?, ?\d+)* ?[\])]`,
    String.raw`\b(?:observations?|obs|actions?|states?|cells?|rows?|columns?|cols?|inputs?|outputs?|index|dimensions?|dims?|features?|layers?|joints?|weights?|bias|params?|parameters?|steps?|iterations?|trials?|evaluations?|episodes?)[ #_]?\d+(?:(?: ?,| and| to|-) ?\d+)*`,
    String.raw`\b[a-z_]+\d+\b`,
    String.raw`\b\d+(?:st|nd|rd|th)\b`,
  ].join('|'),
  'gi',
);
/** A remark that calls a value the one of another time. */
const ofOtherTime =
  /^\s*(?:the )?(?:old|previous|earlier|former|prior|last|rejected|wrong)(?: (?:value|one|best))?\s*$/i;
/** What leads to the number of another time. */
const otherTime =
  /\b(?:was|were|previously|formerly|before|earlier|old|originally|instead of|rather than|than|from|vs|versus|compared (?:to|with)|unlike|above|below|beyond|close to|by)\b(?:(?!\b(?:to|or|now|then|new|should|use|better)\b).)*$/i;
const expected = /\b(?:expect(?:ed|s)?|predict(?:ed|s)?|estimated?|hope(?:d|s)?|should|aim|target)\b/i;
const scored = /\b(?:f|scores?d?|returns?|rewards?|fitness|performance)\b/i;
const numbersIn = /[+-]?(?:\d+(?:\.\d+)?|\.\d+)/g;

/** Whether a remark leaves the value as it is: its digits are indices, the value itself, or of another time. */
export function isHarmless(remark: string, value: number | undefined): boolean {
  if (ofOtherTime.test(remark) || alternatives.test(remark.trimStart()) || otherNumber.test(remark))
    return false;
  if (!/\p{N}/u.test(remark)) return true;
  const rest = remark.slice(0, 400).replace(indexed, (all) => ' '.repeat(all.length));
  let from = 0;
  for (const match of rest.matchAll(numbersIn)) {
    const before = rest.slice(from, match.index);
    from = match.index + match[0].length;
    if (Number(match[0]) === value || otherTime.test(before)) continue;
    if (scored.test(before) && expected.test(rest)) continue;
    return false;
  }
  return !/\p{N}/u.test(rest.replace(numbersIn, ' ')) && !/\p{N}/u.test(remark.slice(400));
}

const sentenceEnd = /[.!?](?=\s|$)/;
const closers = /[ \t)\]}_"'>|$]*/y;

/**
 * @param segment from the end of the value to the next key, or to the end of the line
 * @param last whether no key follows on the line
 * @param opened signs that stand open before the values: they may close here
 */
export function tailOf(segment: string, value: Value, last: boolean, opened: string): Tail {
  const number = value.kind === 'number' ? value.value : undefined;
  const malformed = (): Tail => ({ kind: 'malformed', at: operandsEnd(segment) });
  let at = 0;
  for (;;) {
    if (score.test(segment.slice(at, at + 40))) return { kind: 'score' };
    closers.lastIndex = at;
    const closed = closers.exec(segment)![0];
    if (/["'>$]/.test(closed) && [...closed].some((sign) => '"\'>$'.includes(sign) && !opened.includes(sign)))
      return malformed();
    at += closed.length;
    const spaced = /\s$/.test(closed);
    const sign = segment[at];
    const rest = segment.slice(at + 1);
    if (sign === undefined) return { kind: 'delimiter' };
    if (sign === '(') {
      const close = segment.indexOf(')', at);
      if (close < 0 || close - at > 160) return malformed();
      const remark = segment.slice(at + 1, close);
      if (scored.test(remark) && /\d/.test(remark) && !expected.test(remark)) return { kind: 'score' };
      if (!isHarmless(remark, number)) return malformed();
      at = close + 1;
    } else if (sign === ',' || sign === ';' || sign === '&') {
      if (sign === ',' && /^\d/.test(rest)) return malformed();
      return afterDelimiter(rest, at + 1, number, last, malformed);
    } else if (sign === '.' || sign === '\u2026') {
      // Dots at the digits stand for more of them.
      if (!spaced && (sign !== '.' || rest.startsWith('.'))) return malformed();
      if (/^\.*[\s,;]*$/.test(rest)) return { kind: 'delimiter' };
      if (/^\s/.test(rest)) return { kind: 'end', at };
      if (!/^[,;)\]}]/.test(rest)) return malformed();
      at++;
    } else if (sign === '#' || (sign === '/' && rest.startsWith('/')) || segment.startsWith('<!--', at)) {
      return isHarmless(rest.replace(/^[/!-]+/, ''), number) ? { kind: 'delimiter' } : malformed();
    } else if (sign === ':' && /^\s+\p{L}/u.test(rest)) {
      return remarkTail(rest.trimStart(), at, number, malformed);
    } else if ((sign === '-' || sign === '\u2014') && spaced && /^-?\s+\D/.test(rest)) {
      return remarkTail(rest.replace(/^-?\s+/, ''), at, number, malformed);
    } else if (spaced && /\p{L}/u.test(sign)) {
      return undelimited(segment.slice(at), at, number, last, malformed);
    } else return malformed();
  }
}

function afterDelimiter(
  rest: string,
  at: number,
  value: number | undefined,
  last: boolean,
  malformed: () => Tail,
): Tail {
  const remark = rest.replace(/^[\s,;)\]}"'_|$]+/, '');
  if (score.test(remark)) return { kind: 'score' };
  if (remark === '' || /^(?:and|\.{3,}|\u2026)[\s,]*$/i.test(remark)) return { kind: 'delimiter' };
  if (!last && !/[,;:]\s*$/.test(remark)) return { kind: 'end', at };
  return remarkTail(remark, at, value, malformed);
}

function remarkTail(remark: string, at: number, value: number | undefined, malformed: () => Tail): Tail {
  const end = sentenceEnd.exec(remark);
  const sentence = end === null ? remark : remark.slice(0, end.index);
  if (!isHarmless(sentence, value)) return malformed();
  return end === null || remark.slice(end.index + 1).trim() === ''
    ? { kind: 'delimiter' }
    : { kind: 'end', at };
}

function undelimited(
  rest: string,
  at: number,
  value: number | undefined,
  last: boolean,
  malformed: () => Tail,
): Tail {
  if (/^and\s*$|^(?:next|now|then|first|instead)[\s.!]*$/i.test(rest) || (!last && rest.trim() === ''))
    return { kind: 'delimiter' };
  if (quantities.test(rest)) return malformed();
  if (last && conjunctions.test(rest)) return remarkTail(rest, at, value, () => ({ kind: 'prose' }));
  const end = sentenceEnd.exec(rest)?.index ?? rest.length;
  return /\p{N}/u.test(rest.slice(0, Math.min(end, 24))) ? malformed() : { kind: 'prose' };
}

/** Where a word or a short expression ends that stands in the place of a number. */
function operandsEnd(segment: string): number {
  const tail = /^(?:[^\s,;]+|,\d+)?(?: ?(?:to|or|x|[^\s\w.,;]{1,4}) ?[^\s,;]+){0,3}/.exec(
    segment.slice(0, 60),
  )![0];
  return tail.replace(/[.)\]}]+$/, '').length;
}
