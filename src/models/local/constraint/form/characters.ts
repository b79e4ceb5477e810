/** Sets of characters, and expressions that match their UTF-8 bytes. */
import type { Expressions } from './expressions.js';

/** Inclusive ranges of code points; `union` sorts and merges them. */
export type Ranges = readonly (readonly [number, number])[];

const highest = 0x10_ffff;
/** All Unicode characters; surrogates aren't included. */
export const allCharacters: Ranges = [
  [0, 0xd7ff],
  [0xe000, highest],
];

export function union(given: Ranges): Ranges {
  const merged: [number, number][] = [];
  for (const [low, high] of given.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

export function complement(given: Ranges): Ranges {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [low, high] of union(given)) {
    if (low > next) rest.push([next, low - 1]);
    next = high + 1;
  }
  if (next <= highest) rest.push([next, highest]);
  return rest;
}

export const intersection = (a: Ranges, b: Ranges): Ranges =>
  complement([...complement(a), ...complement(b)]);

/** Highest code points with one, two, three and four bytes in UTF-8. */
const widths = [0x7f, 0x7ff, 0xffff, highest];

export function utf8(e: Expressions, ranges: Ranges): number {
  const parts: number[] = [];
  for (const [low, high] of intersection(ranges, allCharacters)) {
    let from = low;
    for (const bound of widths) {
      if (from > bound || from > high) continue;
      const to = Math.min(high, bound);
      parts.push(between(e, bytesOf(from), bytesOf(to)));
      from = to + 1;
    }
  }
  return e.either(...parts);
}

const bytesOf = (point: number) => [...Buffer.from(String.fromCodePoint(point))];

/** Matches byte sequences of equal length from `low` to `high`; all bytes after the first are from 0x80 to 0xbf. */
function between(e: Expressions, low: readonly number[], high: readonly number[]): number {
  const [a, ...lows] = low as [number, ...number[]];
  const [b, ...highs] = high as [number, ...number[]];
  if (lows.length === 0) return e.range(a, b);
  if (a === b) return e.concat(e.range(a, a), between(e, lows, highs));
  const [least, most] = [lows.map(() => 0x80), lows.map(() => 0xbf)];
  return e.either(
    e.concat(e.range(a, a), between(e, lows, most)),
    ...(b - a > 1 ? [e.concat(e.range(a + 1, b - 1), between(e, least, most))] : []),
    e.concat(e.range(b, b), between(e, least, highs)),
  );
}

const escapes = ['"', '\\', '\b', '\f', '\n', '\r', '\t'];
/** Characters that need no escape in a JSON string. */
const plain = complement([
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
]);

/**
 * Matches a character of the set as written in a JSON string. Each character has one spelling; control characters
 * without a short escape are excluded.
 */
export function jsonCharacter(e: Expressions, ranges: Ranges): number {
  const special = escapes.filter((one) =>
    ranges.some(([a, b]) => a <= one.charCodeAt(0) && one.charCodeAt(0) <= b),
  );
  return e.either(
    utf8(e, intersection(ranges, plain)),
    e.literals(special.map((one) => JSON.stringify(one).slice(1, -1))),
  );
}
