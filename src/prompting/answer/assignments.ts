/** Finds `params[3]: -1.5` and its kind on one line: a key, a separator, a value and what follows it. */
import { readValue, type Tail, tailOf, type Value } from './values.js';

/** How values are named: `params[0]`; another name with an index (`w0`, `state 3`); the index alone. */
export type Naming = 'params' | 'name' | 'index';

export interface Assignment {
  /** The name without its index, in lower case; '' for an index alone. */
  readonly stem: string;
  /** Undefined for a name without an index, as `b`. */
  readonly index: number | undefined;
  readonly value: Value;
}

/** Assignments of one line with nothing but delimiters between them. */
export interface Run {
  readonly naming: Naming;
  readonly assignments: readonly Assignment[];
  /** Positions on the line. */
  readonly start: number;
  readonly end: number;
  /** What the last value is followed by. */
  readonly tail: Tail['kind'];
}

const params = 'params?|parameters?';
const stems = `${params}|weights?|biases|bias|theta|θ|states?|cells?|w|x|p|q|s|b`;
const index = String.raw` ?\[ ?["']?(?<a>\d{1,9})["']? ?\]| ?\( ?(?<b>\d{1,9}) ?\)|[ _]?\{?(?<c>\d{1,9})\}?`;
const remark = String.raw`(?:\([^()]{0,80}\) {0,8})?`;
const separator = String.raw`["']? {0,8}(?::=|==|=>|->|[:=\u2192\u21d2]) {0,8}(?:action {1,4}(?=\d))?`;
/** `params:` heads a list; only a bias has no index. */
const key = new RegExp(
  String.raw`(?<![\p{L}\p{N}_.\-\]])["'(]?(?<stem>${stems})(?:${index}|(?<=\b(?:b|bias)))["')]? {0,8}${remark}${separator}`,
  'giu',
);
/** An index alone is a key only at the start of a line, or behind a comma. */
const bareKey = new RegExp(
  String.raw`(?<=^[ >"'({]{0,16}|[,;] ?)["']?(?<a>\d{1,9})["']? {0,4}${remark}${separator}`,
  'gu',
);
const canonical = new RegExp(`^(?:${params})$`, 'i');

interface Key {
  readonly stem: string;
  readonly index: number | undefined;
  readonly start: number;
  readonly end: number;
}

function keysOf(line: string): readonly Key[] {
  const named = [...line.matchAll(key)].map((match) => {
    const { stem = '', a, b, c } = match.groups!;
    const digits = a ?? b ?? c;
    const index = digits === undefined ? undefined : Number(digits);
    return { stem: stem.toLowerCase(), index, ...span(match) };
  });
  if (named.length > 0 || !/^[ >"'({]*\d/.test(line)) return named;
  return [...line.matchAll(bareKey)].map((match) => ({
    stem: '',
    index: Number(match.groups!.a),
    ...span(match),
  }));
}

const span = (match: RegExpExecArray) => ({ start: match.index, end: match.index + match[0].length });

function namingOf(stem: string): Naming {
  if (stem === '') return 'index';
  return canonical.test(stem) ? 'params' : 'name';
}

/** The runs of a line in which nothing but marks and brackets has been blanked. */
export function readRuns(line: string): readonly Run[] {
  if (!/[:=>\u2192\u21d2]/.test(line) || !/[\d[]/.test(line)) return [];
  const keys = keysOf(line);
  const runs: Run[] = [];
  let open: { naming: Naming; assignments: Assignment[]; start: number; opened: string } | undefined;
  const close = (end: number, tail: Tail['kind']) => {
    if (open !== undefined) runs.push({ ...open, end, tail });
    open = undefined;
  };
  keys.forEach(({ stem, index, start, end }, i) => {
    const read = readValue(line, end);
    if (read === undefined) {
      close(start, 'prose');
      return;
    }
    const naming = namingOf(stem);
    if (open !== undefined && open.naming !== naming) close(start, 'end');
    open ??= { naming, assignments: [], start, opened: openedBefore(line, start, end) };
    const next = keys[i + 1]?.start ?? line.length;
    const segment = line.slice(read.end, Math.max(read.end, next));
    const isWord = read.value.kind === 'word';
    const tail: Tail = isWord
      ? wordTail(segment)
      : tailOf(segment, read.value, next === line.length, open.opened);
    const spoiled = tail.kind === 'malformed' && read.value.kind === 'number';
    const valueEnd = spoiled ? read.end + tail.at : read.end;
    const value: Value = spoiled
      ? {
          kind: 'malformed',
          text: line
            .slice(read.end - writtenLength(read.value), valueEnd)
            .trim()
            .slice(0, 40),
        }
      : read.value;
    open.assignments.push({ stem, index, value });
    const continues = tail.kind === 'delimiter' || (spoiled && startsAnew(line, valueEnd, next));
    if (!continues || next === line.length) close(valueEnd, spoiled && continues ? 'delimiter' : tail.kind);
  });
  return runs;
}

/** Signs that stand open before the first value; quotes around its key alone are closed. */
function openedBefore(line: string, start: number, end: number): string {
  const isQuotedKey = /["'].*["']/.test(line.slice(start, end));
  return line.slice(Math.max(0, start - 64), isQuotedKey ? start : start + 1).replace(/[^"'>$]/g, '');
}

const writtenLength = (value: Value) => (value.kind === 'placeholder' ? 0 : value.text.length);

/** Words end at a comma. */
const wordTail = (segment: string): Tail => ({
  kind: /^[^,;.]*(?:[,;]\s*|\s*)$/.test(segment) ? 'delimiter' : 'prose',
});

/** Whether only a delimiter stands between a spoiled value and the next key or the end of the line. */
const startsAnew = (line: string, from: number, to: number) =>
  /^[\s,;.)\]}"'|$]*(?:and)?\s*$/.test(line.slice(from, Math.min(to, from + 40))) && to - from <= 40;
