/** Chooses what a reply means: it is accepted only where one reading is left. */
import { isExample, isWorded, type NumberSet, sameValue } from './number-set.js';
import { undecorated } from './reply-text.js';
import { findSets } from './sets.js';
import { replacesEarlier, withdraws } from './withdrawals.js';

export type Reading =
  | { readonly kind: 'answer'; readonly set: NumberSet }
  | { readonly kind: 'ambiguous'; readonly readings: readonly [string, string]; readonly set: NumberSet }
  /** No complete set; the largest incomplete one where there is one. */
  | { readonly kind: 'none'; readonly largest?: NumberSet; readonly echoes: boolean };

/** Longest answer that is read, in characters, beside 64 a parameter. */
const longest = 2_000_000;

/**
 * The one set that a reply proposes. Sets that are quoted don't count. Of different ones the last counts where words
 * before it take the others back, or call it the answer more strongly than they call the others; else the reply is
 * ambiguous. So it is where words behind the set take it back, or lines give single parameters other values.
 */
export function readAnswer(raw: string, count: number): Reading {
  if (raw.length > longest + 64 * count) return { kind: 'none', echoes: false };
  const text = undecorated(raw);
  const sets = findSets(text, raw, count);
  const counted = sets.filter((set) => set.role !== 'mention' && !isExample(set) && !isWorded(set));
  const complete = counted.filter((set) => set.complete);
  const partial = counted.filter((set) => !set.complete);
  const first = complete.find(({ role }) => role === 'proposal');
  // A list of what was changed to come to the first set says no more than that set.
  const last = complete.findLast(
    (set) => set.role === 'proposal' && (set === first || !agrees(set, first!) || agrees(first!, set)),
  );
  if (last === undefined) return withoutProposal(sets, complete, partial);
  const rival = rivalOf(last, complete, text);
  if (rival !== undefined) return ambiguous(last, readingsOf(rival, last), complete);
  const end = complete.reduce((most, set) => (agrees(set, last) ? Math.max(most, set.end) : most), last.end);
  if (withdraws(text.slice(end), numbersOf(last)))
    return ambiguous(last, [`${shown(last)} is your answer`, 'you take it back'], complete);
  const other = partial.find((set) => contradicts(set, last));
  if (other !== undefined)
    return other.unknown.length > 0
      ? {
          kind: 'none',
          largest: {
            ...other,
            values: new Map([...last.values, ...other.values]),
            found: last.found + other.unknown.length,
          },
          echoes: false,
        }
      : ambiguous(last, readingsOf(other, last), complete);
  return { kind: 'answer', set: last };
}

function withoutProposal(
  sets: readonly NumberSet[],
  complete: readonly NumberSet[],
  partial: readonly NumberSet[],
): Reading {
  const only = complete.at(-1);
  if (only !== undefined) {
    const rival = complete.find((set) => !agrees(set, only));
    const readings = rival
      ? readingsOf(rival, only)
      : ([`${shown(only)} is your answer`, 'you only mention it'] as const);
    return { kind: 'ambiguous', readings, set: only };
  }
  const attempts = partial.filter(({ role, naming }) => role === 'proposal' || naming === 'params');
  const largest = attempts.reduce<NumberSet | undefined>(
    (most, set) => (most === undefined || set.found >= most.found ? set : most),
    undefined,
  );
  if (largest !== undefined) return { kind: 'none', largest, echoes: false };
  const worded = sets.find((set) => set.complete && isWorded(set));
  if (worded !== undefined) return { kind: 'answer', set: worded };
  return { kind: 'none', echoes: sets.some((set) => isExample(set) || set.role === 'mention') };
}

/** Another complete set that may as well be meant. */
function rivalOf(last: NumberSet, complete: readonly NumberSet[], text: string): NumberSet | undefined {
  const place = complete.indexOf(last);
  // A stray list is no rival of parameters that are named.
  const isStray = ({ role, naming }: NumberSet) =>
    role === 'open' && naming !== 'params' && last.naming === 'params';
  // A table `old | new` behind the answer repeats it in one of its columns.
  const isColumnBeside = (set: NumberSet) =>
    complete.some((other) => other.start === set.start && agrees(other, last)) &&
    complete.some((other) => other.start !== set.start && agrees(other, last));
  const differs = (set: NumberSet) => !agrees(set, last) && !isStray(set) && !isColumnBeside(set);
  const after = complete.slice(place + 1).find(differs);
  const before = complete.slice(0, place).filter(differs);
  const latest = before.at(-1);
  if (after !== undefined || latest === undefined) return after;
  const replaces = latest.end < last.start && replacesEarlier(text.slice(latest.end, last.start));
  return replaces || before.every(({ rank }) => rank < last.rank) ? undefined : latest;
}

const numbersOf = ({ values }: NumberSet) =>
  new Map([...values].flatMap(([index, value]) => (value.kind === 'number' ? [[index, value.value]] : [])));

/** Whether a set says the same as the answer, or tells what was changed to come to it. */
const agrees = (set: NumberSet, answer: NumberSet) =>
  set.conflicts.length === 0 &&
  [...set.values].every(([index, value]) => isChangeTo(value, answer.values.get(index)));

/** Whether a set of some parameters, on lines of its own, gives one of them another value. */
function contradicts(partial: NumberSet, answer: NumberSet): boolean {
  if (partial.role !== 'proposal' || partial.naming !== 'params') return false;
  if (partial.unknown.length > 0) return true;
  return [...partial.values].some(([index, value]) => {
    const own = answer.values.get(index);
    return !isChangeTo(value, own) && value.kind !== 'word' && value.kind !== 'placeholder';
  });
}

type Value = NumberSet['values'] extends ReadonlyMap<number, infer V> ? V : never;

/** `0.4 → 0.5` tells of a change to the answer's 0.5. */
function isChangeTo(value: Value, own: Value | undefined): boolean {
  if (own === undefined) return false;
  if (sameValue(value, own)) return true;
  if (value.kind !== 'malformed' || own.kind !== 'number') return false;
  const change = /(?:to|->|=>|\u2192|\u21d2)\s*([+-]?[\d.]+)$/.exec(value.text);
  return change !== null && Number(change[1]) === own.value;
}

function ambiguous(
  last: NumberSet,
  readings: readonly [string, string],
  complete: readonly NumberSet[],
): Reading {
  return { kind: 'ambiguous', readings, set: complete.at(-1) ?? last };
}

/** How many values a reading shows. */
const shownLimit = 6;

/** Two sets where they differ. */
function readingsOf(a: NumberSet, b: NumberSet): readonly [string, string] {
  const differ = [...b.values.keys()].filter((index) => {
    const [one, other] = [a.values.get(index), b.values.get(index)];
    return one === undefined || other === undefined || !sameValue(one, other);
  });
  const indices = b.values.size <= shownLimit ? undefined : differ;
  return [shown(a, indices), shown(b, indices)];
}

function shown(set: NumberSet, indices?: readonly number[]): string {
  const named = [...(indices ?? [...set.values.keys()].toSorted((a, b) => a - b))].filter((i) =>
    set.values.has(i),
  );
  const items = named.slice(0, shownLimit).map((index) => {
    const value = set.values.get(index)!;
    return `params[${index}]: ${value.kind === 'placeholder' ? '?' : value.text}`;
  });
  return `${items.join(', ')}${named.length > shownLimit ? ', \u2026' : ''}`;
}
