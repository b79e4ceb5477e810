/** Finds the sets of numbers in a reply, line by line: assignments, lines of numbers, lists, objects and tables. */
import { type Run, readRuns } from './assignments.js';
import { joinLines, type NumberLine, readNumberLine } from './lists.js';
import { nodeSets } from './node-sets.js';
import { type Contents, indexedContents, listContents, type NumberSet, namedContents } from './number-set.js';
import { readNode } from './objects.js';
import { type Lead, type Place, placeOf } from './places.js';
import { isOfScores, isQuoted, readTable } from './tables.js';
import { tailOf } from './values.js';
import { judged, senseOf, withdraws } from './words.js';

interface Line {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Assignments on lines that belong together. */
interface Group {
  readonly naming: Run['naming'];
  readonly assignments: Run['assignments'][number][];
  readonly indices: Set<number>;
  readonly lead: Lead;
  readonly section: string;
  /** How many of the assignments stand before the next label: a label of a part is no label of the set. */
  headed: number | undefined;
  quoted: boolean;
  readonly start: number;
  end: number;
  /** Whether a blank line follows the last of its lines. */
  apart: boolean;
}

const fence = /^[ \t>]{0,8}(?:```|~~~)/;
const quotingFence = /^[ \t>]{0,8}(?:```|~~~)\s*(?:diff|think\w*|reason\w*|thought\w*|history|log|quote)/i;
const heading = /^\s{0,3}#{1,6}\s+\S/;
const bold = /^\s*\*\*[^*]+\*\*\s*$/;
const bullets = /^[\s>"'_([{$#|\u2022-]*(?:\d{1,3}[.)]\s+)?[\s"'_([{$]*$/;

/**
 * @param text as `undecorated` gives it
 * @param raw the same before that, sign by sign
 */
export function findSets(text: string, raw: string, count: number): readonly NumberSet[] {
  const sets: NumberSet[] = [];
  let lead: Lead = { kind: 'start', text: '' };
  let section = '';
  let group: Group | undefined;
  let numbers: { lines: NumberLine[]; lead: Lead; start: number; end: number } | undefined;
  let nodesUntil = 0;
  let consumed = 0;
  let quoting = false;
  let fenced = false;

  const add = (contents: Contents, place: Place, naming: NumberSet['naming'], start: number, end: number) => {
    if (contents.found === 0) return;
    sets.push({ ...contents, ...place, ...(quoting && { role: 'open' as const }), naming, start, end });
  };

  const labelled = (text: string): Lead => ({
    kind: 'label',
    text,
    ...(lead.kind === 'label' && { outer: lead }),
  });

  function closeGroup(): void {
    if (group === undefined) return;
    const { naming, assignments, lead: words, start, end, headed } = group;
    const contents = contentsOf(assignments, naming, count);
    const isPart = headed !== undefined && headed < assignments.length && words.kind !== 'inline';
    const own = placeOf(words, { bare: naming === 'index', section: group.section });
    const place = isPart && own.role === 'open' && senseOf(words.text) === 'unknown' ? proposed : own;
    if (contents !== undefined) add(contents, group.quoted ? mentioned : place, naming, start, end);
    group = undefined;
    lead = { kind: 'set', text: '' };
  }

  function closeNumbers(): void {
    if (numbers === undefined) return;
    const { lines, start, end } = numbers;
    const joined = joinLines(lines);
    const place = placeOf(numbers.lead, { bare: true, section });
    const whole = joined && listContents(joined.values, count);
    const apart =
      lines.length > 1 && !whole?.complete && lines.every(({ values }) => values.length === count);
    if (apart) for (const { values } of lines) add(listContents(values, count), place, 'list', start, end);
    else if (whole)
      add(whole, joined.certain ? place : { role: 'open', rank: place.rank }, 'list', start, end);
    numbers = undefined;
    lead = { kind: 'set', text: '' };
  }

  /** A run that stands on lines of its own joins the open group, or starts one. */
  function addLine(run: Run, label: string, line: Line): void {
    const words = label !== '' ? labelled(label) : lead.kind === 'set' ? undefined : lead;
    const indices = run.assignments.map(({ index = -1 }) => index);
    if (group !== undefined && startsOver(group, run, indices, count, words)) closeGroup();
    if (group === undefined) {
      const start = line.start + run.start;
      const own = words ?? lead;
      group = {
        naming: run.naming,
        assignments: [],
        indices: new Set(),
        lead: own,
        section,
        headed: undefined,
        quoted: false,
        start,
        end: 0,
        apart: false,
      };
    } else if (words?.kind === 'label' || words?.kind === 'heading')
      group.headed ??= group.assignments.length;
    group.assignments.push(...run.assignments);
    for (const index of indices) group.indices.add(index);
    group.end = line.start + run.end;
    group.apart = false;
    const after = line.text.slice(run.end);
    const score = run.tail === 'score' || scoreLine.test(text.slice(line.end, line.end + 40));
    // A remark on one value of many tells of that value.
    group.quoted ||= score || ((run.assignments.length > 1 || count === 1) && isJudged(after));
    lead = { kind: 'set', text: '' };
    if (score || run.tail === 'end') closeGroup();
  }

  /** A run within a sentence. */
  function addInline(run: Run, before: string, after: string, line: Line): void {
    const contents = contentsOf(run.assignments, run.naming, count);
    if (contents === undefined) return;
    const own = placeOf({ kind: 'inline', text: before }, { bare: run.naming !== 'params', section });
    const ends = run.tail === 'delimiter' || run.tail === 'end';
    const isQuoted = run.tail === 'score' || isJudged(after);
    const place = isQuoted
      ? mentioned
      : own.role === 'proposal' && !ends
        ? { role: 'open' as const, rank: own.rank }
        : own;
    if (run.naming !== 'params' && place.role !== 'proposal') return;
    add(contents, place, run.naming, line.start + run.start, line.start + run.end);
  }

  function readAssignments(line: Line): boolean {
    const runs = readRuns(line.text);
    runs.forEach((run, i) => {
      const before = line.text.slice(runs[i - 1]?.end ?? 0, run.start);
      const after = line.text.slice(run.end, runs[i + 1]?.start);
      const isFirst = i === 0 && (bullets.test(before) || /[:=]\s*["'_([{$]*$/.test(before));
      const isWhole = isFirst && run.tail !== 'prose' && run.tail !== 'malformed';
      if (isWhole) {
        addLine(run, bullets.test(before) ? '' : before, line);
      } else {
        closeGroup();
        closeNumbers();
        addInline(run, before, after, line);
        if (i === runs.length - 1) lead = proseLead(after.trim() === '' ? before : after);
      }
    });
    return runs.length > 0;
  }

  /** A list or an object that begins on this line; undefined where none does. */
  function readBracket(line: Line): boolean {
    const at = line.text.search(/[[{(]/);
    if (at < 0 || line.start + at < nodesUntil) return false;
    const before = line.text
      .slice(0, at)
      .replace(/[:=]\s*(?:[a-z]+\.)?(?:array|tensor|asarray|list|tuple)\s*$/i, '=');
    // `params[8]` is an index.
    if (/[\p{L}\p{N}_\])]$/u.test(before)) return false;
    const { node, end } = readNode(text, raw, line.start + at);
    nodesUntil = end;
    if (node === undefined) return false;
    const lineEnd = text.indexOf('\n', end);
    const after = text.slice(end, lineEnd < 0 ? text.length : lineEnd);
    const tail = tailOf(after, { kind: 'word', text: '' }, true, '"\'$').kind;
    const label = bullets.test(before) ? '' : before;
    const words: Lead =
      label === '' ? lead : /[:=]\s*$/.test(label) ? labelled(label) : { kind: 'inline', text: label };
    const found = nodeSets(node, count, words, section);
    // A list in the midst of a sentence is a range or a pair of anything, unless the words call it the answer.
    if (found.every(({ place }) => words.kind === 'inline' && place.role !== 'proposal')) return false;
    closeNumbers();
    closeGroup();
    for (const { contents, place, naming } of found) {
      const isQuoted = tail === 'score' || isJudged(after);
      const ends = tail === 'delimiter' || tail === 'end';
      const role = isQuoted ? 'mention' : ends ? place.role : 'open';
      add(contents, { ...place, role }, naming, line.start + at, end);
    }
    lead = { kind: 'set', text: '' };
    consumed = end;
    return true;
  }

  function readProse(line: Line): void {
    closeNumbers();
    const isHeading = !fenced && (heading.test(line.text) || bold.test(raw.slice(line.start, line.end)));
    const isLabel = /[:=]\s*$/.test(line.text);
    if (group !== undefined && !isHeading && !isLabel) {
      const isRemark = !/\p{N}/u.test(line.text) && !judged.test(line.text) && !withdraws(line.text);
      if (!isRemark || group.indices.size >= count || senseOf(line.text) === 'mention') closeGroup();
      else return;
    } else if (group !== undefined && group.indices.size >= count) closeGroup();
    if (isHeading) section = line.text;
    lead = isHeading && !isLabel ? { kind: 'heading', text: line.text } : proseLead(line.text);
  }

  function readTableAt(at: number): number {
    let last = at;
    while (lines[last + 1]?.text.includes('|')) last++;
    const rows = lines.slice(at, last + 1).map((line) => line.text);
    const readings = readTable(rows, count);
    if (readings.length === 0) return at;
    closeNumbers();
    closeGroup();
    const place = isOfScores(rows) ? mentioned : placeOf(lead, { bare: false, section });
    const [start, end] = [lines[at]!.start, lines[last]!.end];
    for (const reading of readings) {
      const single = readings.length === 1;
      add(reading.contents, single && isQuoted(reading) ? mentioned : place, 'params', start, end);
    }
    lead = { kind: 'set', text: '' };
    return last + 1;
  }

  const lines = linesOf(text);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (fence.test(raw.slice(line.start, line.start + 40))) {
      fenced = !fenced;
      quoting = fenced && quotingFence.test(raw.slice(line.start, line.end).slice(0, 60));
      continue;
    }
    if (line.text.trim() === '') {
      closeNumbers();
      if (group !== undefined) group.apart = true;
      continue;
    }
    if (line.start < consumed) continue;
    if (
      /^\s*\|/.test(line.text) ||
      (line.text.includes('|') && /^[\s:|-]+$/.test(lines[at + 1]?.text ?? '-x'))
    ) {
      const next = readTableAt(at);
      if (next > at) {
        at = next - 1;
        continue;
      }
    }
    if (/^[^[{(]*\{/.test(line.text) && readBracket(line)) continue;
    if (readAssignments(line)) continue;
    const row = readNumberLine(line.text);
    if (row !== undefined) {
      closeGroup();
      if (row.label !== '') closeNumbers();
      numbers ??= {
        lines: [],
        lead: row.label === '' ? lead : labelled(row.label),
        start: line.start,
        end: line.end,
      };
      numbers.lines.push(row);
      numbers.end = line.end;
      continue;
    }
    if (!readBracket(line)) readProse(line);
  }
  closeNumbers();
  closeGroup();
  return sets;
}

const mentioned: Place = { role: 'mention', rank: 0 };
const proposed: Place = { role: 'proposal', rank: 0 };
const proseLead = (text: string): Lead => ({ kind: /[:=]\s*$/.test(text) ? 'label' : 'sentence', text });
const isJudged = (after: string) => judged.test(after.slice(0, 400).split(/[.!?]\s/)[0]!);
/** The line under a set that gives its score, as in a history. */
const scoreLine = /^\n\s*f ?\( ?param(?:eter)?s? ?\)\s*[:=]/i;

function contentsOf(
  assignments: Run['assignments'],
  naming: Run['naming'],
  count: number,
): Contents | undefined {
  if (naming === 'name') return namedContents(assignments, count);
  return indexedContents(
    assignments.map(({ index = 0, value }) => [index, value] as const),
    count,
  );
}

/** Whether a run begins another set than the open group. */
function startsOver(
  group: Group,
  run: Run,
  indices: readonly number[],
  count: number,
  words: Lead | undefined,
): boolean {
  if (run.naming !== group.naming) return true;
  if (words !== undefined && ['mention', 'both'].includes(senseOf(words.text))) return true;
  const again = indices.some((index) => index >= 0 && group.indices.has(index));
  if (!again) return false;
  if (group.apart || words !== undefined) return true;
  const isComplete = group.indices.size >= count;
  return isComplete
    ? indices.includes([...group.indices][0]!) && count > 1
    : indices[0] === [...group.indices][0] && group.indices.size > 1;
}

function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    lines.push({ text: text.slice(start, end), start, end });
    start = end + 1;
  }
  return lines;
}
