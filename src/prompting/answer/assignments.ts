/** Parses named values such as `params[3]: -1.5`, listed on one line or one per line. */
import { type Value, valueAt, type WrittenSet } from './values.js';

const separator = String.raw`["')\]]{0,2}[ \t]{0,8}(?:\([^()\n]{0,80}\)[ \t]{0,8})?(?::=|==|=>|->|[:=\u2192\u21d2])[ \t]{0,8}(?:action[ \t]{1,4}(?=\d))?`;
const index = String.raw`(?: ?\[ ?["']?(?<a>\d{1,9})["']? ?\]| ?\( ?(?<b>\d{1,9}) ?\)|[ _.]?\{?(?<c>\d{1,9})\}?)`;
/** Names of parameters, such as `params`, `w` or `theta`; may include a prefix, as in `policy_params`. */
const stem = String.raw`(?<stem>[\p{L}_]{0,24}?param(?:eter)?s?|weights?|theta|\u03b8|states?|cells?|b|bias(?:es)?|[wxpqs])`;
/** An index without a name counts as a key only at the start of a line or after a comma, semicolon or brace. */
const bareIndex = String.raw`(?<=^[ \t>"'({]{0,8}|[,;{]\s{0,16}["']?)(?<d>\d{1,9})${separator}`;
const key = new RegExp(
  String.raw`(?<![\p{L}\p{N}_])(?:${stem}${index}(?:${separator}|(?<=\])[ \t]{1,4}(?:is )?(?=[+-]?\.?\d))|(?<bias>b|bias)${separator})|${bareIndex}`,
  'gimu',
);
/** Text that may precede a key if the values are listed one per line. */
const opening = /(?:^|\n)(?:[^\p{L}\n]*|[^\n]*[:=(]\s*["'(]*|[^\p{L}\n]*[a-z][.)] *)$/u;

interface Group {
  readonly stem: string;
  readonly values: Map<number, Value>;
  readonly conflicts: Set<number>;
  readonly start: number;
  /** True if only a bullet or a label precedes the set on its line. */
  readonly opens: boolean;
  end: number;
  keysOnLine: number;
}

/** Finds all sets of named values; a complete set has `count` values. */
export function readAssignments(text: string, lists: readonly WrittenSet[], count: number): WrittenSet[] {
  const groups: Group[] = [];
  const rows = new Map(lists.map((list) => [list.start, list]));
  const keys = [...text.matchAll(key)];
  let lineEnd = -1;
  for (const [i, { 0: found, groups: named = {}, index: start }] of keys.entries()) {
    const at = start + found.length;
    if (lineEnd < at) lineEnd = (text.indexOf('\n', at) + 1 || text.length + 1) - 1;
    const next = keys[i + 1]?.index ?? text.length;
    const list = rows.get(at);
    const row = list !== undefined && list.values.size > 1 && list.values.size < count ? list : undefined;
    const value = row === undefined ? valueAt(text, at, Math.min(next, lineEnd), next >= lineEnd) : undefined;
    if (value?.text === '') continue;
    const name = (named.stem ?? named.bias ?? '').toLowerCase().replace(/.*param.*/, 'params');
    let group = groups.at(-1);
    const gap = group === undefined ? '' : text.slice(group.end, start);
    const isBias = /^b/.test(name) && group !== undefined && !/^$|param|^b/.test(group.stem);
    const digits = named.a ?? named.b ?? named.c ?? named.d;
    const own = isBias || digits === undefined ? (group?.values.size ?? 0) : Number(digits);
    const opens = opening.test(text.slice(Math.max(0, start - 80), start));
    if (!(isBias || name === group?.stem) || !continues(group!, own, gap, opens, count)) {
      group = { stem: name, values: new Map(), conflicts: new Set(), start, opens, end: 0, keysOnLine: 0 };
      groups.push(group);
    }
    const values = value === undefined ? [...row!.values.values()] : [value];
    for (const [j, one] of values.entries()) put(group!, own * values.length + j, one);
    group!.keysOnLine = gap.includes('\n') ? 1 : group!.keysOnLine + 1;
    group!.end = (value ?? row!).end;
  }
  return groups.map(({ conflicts, end, start, stem: name, values }) => ({
    ...{ values, start, end, conflicts: [...conflicts] },
    naming: name === '' ? 'none' : 'params',
  }));
}

/** Whether the next value belongs to `group`; `gap` is the text between them. */
function continues(group: Group, index: number, gap: string, opens: boolean, count: number): boolean {
  const { keysOnLine, values } = group;
  const isComplete = values.size >= count;
  const isRepeated = values.has(index);
  if (!gap.includes('\n')) {
    if (isComplete && isRepeated) return /^[)\]}"',;\s]*$/.test(gap);
    return !/[.!?]\s+\p{L}|\d/u.test(gap.replace(/\([^()]*\)/g, ''));
  }
  // A value mentioned in a sentence doesn't belong to a set below it.
  if (!group.opens && !/^[,;\s]*$/.test(gap)) return false;
  const isApart = /\n\s*\n|\n[^\n]*\p{L}[^\n]*\n/u.test(gap);
  if (isRepeated) return opens && keysOnLine === 1 && !isApart && !(isComplete && index === 0);
  return opens && !(isComplete && /\n[^\n]*\p{L}[^\n]*\n/u.test(gap));
}

function put({ conflicts, values }: Group, index: number, value: Value): void {
  const own = values.get(index) ?? value;
  values.set(index, own);
  if (own.text !== value.text && own.number !== value.number) conflicts.add(index);
}
