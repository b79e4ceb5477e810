/** Groups what the scanner finds into runs: assignments that belong together as one answer. */
import { bracket, digit, isAt, joint, mark, minus, newline, skip, space } from './characters.js';
import { commentEnd, type Found, type NumberList, scanReply, type Value } from './reply-scanner.js';

/** Assignments without other text between them, or one list. */
export interface Run {
  readonly kind: 'assignments' | 'list';
  /** The value of each index that is in the spec. */
  readonly values: ReadonlyMap<number, Value>;
  /** Indices that were given different values. */
  readonly conflicts: readonly number[];
  /** Indices beyond the spec, the first few. */
  readonly unknown: readonly number[];
  /** How many different indices it gives. */
  readonly found: number;
  /** Every index of the spec is there, and no other. */
  readonly complete: boolean;
  /** It is the example of the format: placeholders only. */
  readonly example: boolean;
  /** Words only: a legend of the parameters, or names of actions instead of their numbers. */
  readonly worded: boolean;
  /** `f(params): …` follows, as in the history of the prompt. */
  readonly quoted: boolean;
  /** Nothing but decoration stands before it in the reply. */
  readonly first: boolean;
  /** It starts its line, or a colon introduces it: not part of a sentence. */
  readonly headed: boolean;
  /** Positions of its first key and after its last value. */
  readonly start: number;
  readonly end: number;
}

interface OpenRun {
  readonly values: Map<number, Value>;
  readonly conflicts: Set<number>;
  readonly unknown: Set<number>;
  readonly firstIndex: number;
  readonly start: number;
  readonly place: Place;
  /** Its last line began with one of its assignments, so that a remark may follow them. */
  leading: boolean;
  size: number;
  end: number;
}

/** How many indices beyond the spec are named in a failure. */
const unknownLimit = 20;

/**
 * Calls `visit` for each run, in order. A run ends before other text, at the end of the line on which it became
 * complete, before a line that starts over with its first index, and where `f(params)` follows.
 */
export function findRuns(text: string, count: number, visit: (run: Run) => void): void {
  const contentStart = skip(text, 0, space | newline | mark | bracket);
  let open: OpenRun | undefined;
  let lastEnd = 0;
  const close = (quoted: boolean): void => {
    if (open !== undefined) visit(closeRun(open, count, quoted));
    open = undefined;
  };
  scanReply(text, count, (found) => {
    if (found.kind === 'list') {
      close(false);
      const place = placeOf(text, lastEnd, found.start, contentStart);
      lastEnd = found.end;
      if (found.length > 0) visit(listRun(found, count, place));
      return;
    }
    const place = placeOf(text, lastEnd, found.start, contentStart);
    if (open !== undefined) {
      const link = linkOf(text, open, found.start, place);
      const startsOver = found.index === open.firstIndex && open.size > 1;
      const ended = link === 'new-line' && (startsOver || open.values.size === count);
      if (link === 'quoted' || link === 'other' || ended) close(link === 'quoted');
    }
    lastEnd = found.end;
    open ??= {
      values: new Map(),
      conflicts: new Set(),
      unknown: new Set(),
      firstIndex: found.index,
      start: found.start,
      place,
      leading: place.leading,
      size: 0,
      end: 0,
    };
    addTo(open, found, count);
    open.leading = place.leading || (open.leading && !place.newLine);
  });
  close(open !== undefined && isQuoted(text, lastEnd));
}

function addTo(run: OpenRun, { index, value, end }: Found & { kind: 'assignment' }, count: number): void {
  run.size++;
  run.end = end;
  if (index >= count) {
    run.unknown.add(index);
    return;
  }
  const earlier = run.values.get(index);
  if (earlier === undefined) run.values.set(index, value);
  else if (!sameValue(earlier, value)) run.conflicts.add(index);
}

export function sameValue(a: Value, b: Value): boolean {
  if (a.kind === 'number' && b.kind === 'number') return a.value === b.value;
  if (a.kind === 'placeholder' || b.kind === 'placeholder') return a.kind === b.kind;
  return a.kind === b.kind && a.text === b.text;
}

function closeRun(run: OpenRun, count: number, quoted: boolean): Run {
  const { values, unknown, place, start, end } = run;
  return {
    kind: 'assignments',
    values,
    conflicts: [...run.conflicts],
    unknown: [...unknown].slice(0, unknownLimit),
    found: values.size + unknown.size,
    complete: values.size === count && unknown.size === 0,
    example: allOf(values, 'placeholder'),
    worded: allOf(values, 'word'),
    quoted,
    first: place.first,
    headed: isHeaded(place),
    start,
    end,
  };
}

function allOf(values: ReadonlyMap<number, Value>, kind: Value['kind']): boolean {
  return values.size > 0 && [...values.values()].every((value) => value.kind === kind);
}

/** A list as a run: item i is the value of index i. The last item of a list without end may be cut, and is left out. */
export function listRun(list: NumberList, count: number, place: Omit<Place, 'newLine'>): Run {
  const kept = list.closed ? list.values : list.values.slice(0, -1);
  const values = new Map(kept.map((value, index) => [index, value]));
  const surplus = Math.min(Math.max(0, list.length - count), unknownLimit);
  return {
    kind: 'list',
    values,
    conflicts: [],
    unknown: Array.from({ length: surplus }, (_, i) => count + i),
    found: list.length,
    complete: list.closed && list.length === count,
    example: allOf(values, 'placeholder'),
    worded: allOf(values, 'word'),
    quoted: false,
    first: place.first,
    headed: isHeaded(place),
    start: list.start,
    end: list.end,
  };
}

interface Place {
  readonly first: boolean;
  /** A line break stands between it and what was found before. */
  readonly newLine: boolean;
  /** Only bullets and marks stand before it on its line. */
  readonly leading: boolean;
  /** A colon or an equals sign stands before it. */
  readonly introduced: boolean;
}

const isHeaded = ({ leading, introduced }: Omit<Place, 'newLine'>) => leading || introduced;

/** Longest decoration before an assignment, and longest gap within a run, in characters. */
const prefixLimit = 64;
const gapLimit = 600;

function placeOf(text: string, from: number, start: number, contentStart: number): Place {
  let lineStart = start;
  while (lineStart > from && start - lineStart <= prefixLimit && !isAt(text, lineStart - 1, newline))
    lineStart--;
  const newLine = lineStart === 0 || isAt(text, lineStart - 1, newline);
  const leading = newLine && isBullet(text, lineStart, start);
  const before = lastVisible(text, from, start);
  return {
    first: leading && contentStart >= lineStart,
    newLine,
    leading,
    introduced: before === ':' || before === '=' || before === '\uff1a',
  };
}

/** The last character before `start` that is no decoration. */
function lastVisible(text: string, from: number, start: number): string | undefined {
  let position = start - 1;
  while (
    position >= from &&
    start - position < prefixLimit &&
    isAt(text, position, space | newline | mark | bracket)
  ) {
    position--;
  }
  return position < from ? undefined : text[position];
}

/** Whether only a bullet, a number of a list, marks and openers stand between the positions. */
function isBullet(text: string, from: number, to: number): boolean {
  let position = skip(text, from, space | mark | bracket, to);
  if (position < to && '-+>#|\u2022\u2013'.includes(text[position]!)) {
    position = skip(text, position + 1, space | mark | bracket, to);
    return position === to;
  }
  const number = skip(text, position, digit, Math.min(to, position + 4));
  if (number > position && '.):'.includes(text[number] ?? ' ')) {
    position = skip(text, number + 1, space | mark | bracket, to);
  }
  return position === to;
}

/** How the text after a run leads to the next assignment. */
function linkOf(
  text: string,
  run: OpenRun,
  start: number,
  place: Place,
): 'same-line' | 'new-line' | 'quoted' | 'other' {
  if (isQuoted(text, run.end)) return 'quoted';
  if (start - run.end > gapLimit) return 'other';
  const end = skipJoints(text, run.end, start);
  if (end === start) return 'same-line';
  if (!place.leading) return 'other';
  // A remark may follow on a line that began with its assignment; only blank lines may follow that line.
  let lineEnd = end;
  while (!isAt(text, lineEnd, newline)) lineEnd++;
  if (lineEnd > end && !run.leading) return 'other';
  const next = skip(text, lineEnd, space | newline | mark | bracket, start);
  return next === start || isBullet(text, next, start) ? 'new-line' : 'other';
}

/** Skips what may stand between two assignments on a line: commas, marks, brackets, `and`, dots, a remark in parentheses. */
function skipJoints(text: string, from: number, to: number): number {
  let position = from;
  while (position < to) {
    if (text[position] === '(') {
      const end = commentEnd(text, position);
      if (end < 0 || end > to) return position;
      position = end;
    } else if (isAt(text, position, space | mark | joint | bracket)) position++;
    else if (text.startsWith('..', position)) while (text[position] === '.') position++;
    else if (text.startsWith('and ', position)) position += 4;
    else return position;
  }
  return Math.min(position, to);
}

const score = /f\s?\(\s?param(?:eter)?s?\s?\)[*_`\s]{0,4}(?:[:=\u2248]|->|\u2192|is )/iy;

/** Whether the score of a history line follows on the same line. */
function isQuoted(text: string, end: number): boolean {
  score.lastIndex = skip(text, end, space | mark | joint | minus | bracket, end + 16);
  return score.test(text);
}
