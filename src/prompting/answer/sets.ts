/** Finds the sets of numbers in a reply, line by line: assignments, lines of numbers, lists, objects and tables. */
import { type Run, readRuns } from './assignments.js';
import { extendGroup, groupPlace, type LineGroup, openGroup, runContents, startsOver } from './line-group.js';
import { joinLines, type NumberLine, readNumberLine } from './lists.js';
import { nodeSets } from './node-sets.js';
import { type Contents, listContents, type NumberSet } from './number-set.js';
import { readNode } from './objects.js';
import { type Lead, type Place, placeOf } from './places.js';
import { type Line, linesOf } from './reply-text.js';
import { isOfScores, isQuoted, isUnclear, readTable } from './tables.js';
import { tailOf } from './values.js';
import { withdraws } from './withdrawals.js';
import { isHypothetical, judged, senseOf } from './words.js';

const fence = /^[ \t>]{0,8}(?:```|~~~)(?!.*```)/;
const quotingFence = /^[ \t>]{0,8}(?:```|~~~)\s*(?:diff|think\w*|reason\w*|thought\w*|history|log|quote)/i;
const commentStart = /^\s{0,8}(?:<!--|\/\*)/;
const commentEnd = /-->|\*\//;
const heading = /^\s{0,3}#{1,6}\s+\S/;
const bold = /^\s*\*\*[^*]+\*\*\s*$/;
/** What may stand before a set on its line. */
const bullets =
  /^[\s>"'_([{$#|\u2022\u2705\u2714+-]{0,64}(?:(?:\d{1,3}|[a-z])[.)]\s{1,8})?[\s"'_([{$]{0,16}$/;
const labelEnd = /[:=]\s*["'_([{$]*$/;
const call = /[:=]\s*(?:[a-z]+\.)?(?:array|tensor|asarray|list|tuple)\s*$/i;
/** What makes an index or an expression of the bracket behind it: `params[8]`, `-[1, 2]`. */
const operator =
  /[\p{L}\p{N}_\])]$|[-+*/^%~!<\u2208\u2248\u2260\u2264\u2265]\s*$|[!<>~]=\s*$|(?<![-=])>\s*$|\b(?:in|within|between)\s*$/iu;
/** The line under a set that gives its score. */
const scoreLine = /^\n\s*f ?\( ?param(?:eter)?s? ?\)\s*[:=]\s*\S{0,24}\s*(?:\n|$)/i;

const mentioned: Place = { role: 'mention', rank: 0 };
const unclear: Place = { role: 'open', rank: 0 };
const afterSet: Lead = { kind: 'set', text: '' };
const proseLead = (text: string): Lead => ({ kind: /[:=]\s*$/.test(text) ? 'label' : 'sentence', text });
const isJudged = (after: string) => judged.test(after.slice(0, 400).split(/[.!?]\s/)[0]!);
/** Whether a line between those of a set tells of nothing else. */
const isRemark = (text: string) =>
  !/\p{N}/u.test(text) && !judged.test(text) && !withdraws(text) && senseOf(text) !== 'mention';
const ends = (tail: string) => tail === 'delimiter' || tail === 'end';

/**
 * @param text as `undecorated` gives it
 * @param raw the same before that, sign by sign
 */
export function findSets(text: string, raw: string, count: number): readonly NumberSet[] {
  return new SetReader(text, raw, count).read();
}

class SetReader {
  readonly #text: string;
  readonly #raw: string;
  readonly #count: number;
  readonly #lines: readonly Line[];
  readonly #sets: NumberSet[] = [];
  #lead: Lead = { kind: 'start', text: '' };
  /** The heading above. */
  #section = '';
  #group: LineGroup | undefined;
  #numbers: { lines: NumberLine[]; lead: Lead; start: number; end: number } | undefined;
  /** No list or object is looked for before this position, nor any line read before that one. */
  #tried = 0;
  #consumed = 0;
  #fenced = false;
  /** Within a comment, or a fence of a kind that quotes. */
  #quoting = false;

  constructor(text: string, raw: string, count: number) {
    this.#text = text;
    this.#raw = raw;
    this.#count = count;
    this.#lines = linesOf(text);
  }

  read(): readonly NumberSet[] {
    for (let at = 0; at < this.#lines.length; ) {
      const line = this.#lines[at]!;
      const raw = this.#raw.slice(line.start, line.end);
      if (commentStart.test(raw)) this.#quote(true);
      at = fence.test(raw) ? this.#readFence(raw, at) : this.#readLine(line, at);
      if (this.#quoting && !this.#fenced && commentEnd.test(raw)) this.#quote(false);
    }
    this.#close();
    return this.#sets;
  }

  #quote(quoting: boolean): void {
    this.#close();
    this.#quoting = quoting;
  }

  #readFence(raw: string, at: number): number {
    this.#fenced = !this.#fenced;
    this.#quote(this.#fenced && quotingFence.test(raw));
    return at + 1;
  }

  /** @returns which line comes next */
  #readLine(line: Line, at: number): number {
    if (line.text.trim() === '') {
      this.#closeNumbers();
      if (this.#group !== undefined) this.#group.apart = true;
    } else if (line.start >= this.#consumed) {
      const next = this.#readTable(at);
      if (next > at) return next;
      const isComment = this.#fenced && /^\s*(?:#|\/\/)/.test(line.text);
      const startsObject = !isComment && /^[^[{(]*\{/.test(line.text) && this.#readBracket(line);
      if (isComment) this.#readProse(line);
      else if (
        !startsObject &&
        !this.#readAssignments(line) &&
        !this.#readNumbers(line) &&
        !this.#readBracket(line)
      )
        this.#readProse(line);
    }
    return at + 1;
  }

  #add(contents: Contents, place: Place, naming: NumberSet['naming'], start: number, end: number): void {
    if (contents.found === 0) return;
    const role = this.#quoting && place.role === 'proposal' ? 'open' : place.role;
    this.#sets.push({ ...contents, ...place, role, naming, start, end });
  }

  #close(): void {
    this.#closeNumbers();
    this.#closeGroup();
  }

  #closeGroup(): void {
    if (this.#group === undefined) return;
    const { naming, assignments, start, end } = this.#group;
    const contents = runContents(assignments, naming, this.#count);
    if (contents !== undefined) this.#add(contents, groupPlace(this.#group), naming, start, end);
    this.#group = undefined;
    this.#lead = afterSet;
  }

  #closeNumbers(): void {
    if (this.#numbers === undefined) return;
    const { lines, lead, start, end } = this.#numbers;
    const place = placeOf(lead, { bare: true, section: this.#section });
    const joined = joinLines(lines);
    const whole = joined && listContents(joined.values, this.#count);
    const areSets = lines.length > 1 && lines.every(({ values }) => values.length === this.#count);
    if (areSets && !whole?.complete)
      for (const { values } of lines) this.#add(listContents(values, this.#count), place, 'list', start, end);
    else if (whole) this.#add(whole, joined.certain ? place : { ...place, role: 'open' }, 'list', start, end);
    this.#numbers = undefined;
    this.#lead = afterSet;
  }

  /** A label on the line of its set; the one on the lines before it holds, too. */
  #labelled(text: string): Lead {
    return { kind: 'label', text, ...(this.#lead.kind === 'label' && { outer: this.#lead }) };
  }

  #readAssignments(line: Line): boolean {
    const runs = readRuns(line.text);
    runs.forEach((run, i) => {
      const before = line.text.slice(runs[i - 1]?.end ?? 0, run.start);
      const after = line.text.slice(run.end, runs[i + 1]?.start);
      const isBulleted = bullets.test(before);
      const isWhole =
        i === 0 &&
        (isBulleted || labelEnd.test(before) || line.text[run.start] === '(') &&
        !['prose', 'malformed'].includes(run.tail);
      if (isWhole) {
        this.#addLine(run, isBulleted ? '' : before, line);
      } else {
        this.#close();
        this.#addInline(run, before, after, line);
        if (i === runs.length - 1) this.#lead = proseLead(after.trim() === '' ? before : after);
      }
    });
    return runs.length > 0;
  }

  /** A run that stands on lines of its own joins the open group, or starts one. */
  #addLine(run: Run, label: string, line: Line): void {
    this.#closeNumbers();
    const words = label !== '' ? this.#labelled(label) : this.#lead.kind === 'set' ? undefined : this.#lead;
    if (this.#group !== undefined && startsOver(this.#group, run, this.#count, words)) this.#closeGroup();
    this.#group ??= openGroup(run, words ?? this.#lead, this.#section, line.start + run.start);
    extendGroup(this.#group, run, words, line.start + run.end);
    const after = line.text.slice(run.end);
    const isScored = run.tail === 'score' || scoreLine.test(this.#text.slice(line.end, line.end + 80));
    // A remark on one value of many tells of that value.
    const isOfAll = run.assignments.length > 1 || this.#count === 1;
    this.#group.quoted ||= isScored || (isOfAll && isJudged(after));
    this.#lead = afterSet;
    if (isScored || run.tail === 'end') this.#closeGroup();
  }

  /** A run within a sentence. */
  #addInline(run: Run, before: string, after: string, line: Line): void {
    const contents = runContents(run.assignments, run.naming, this.#count);
    if (contents === undefined) return;
    const bare = run.naming !== 'params';
    const own = placeOf({ kind: 'inline', text: before }, { bare, section: this.#section });
    const isMention = run.tail === 'score' || isJudged(after) || isHypothetical(before, after);
    const place = isMention
      ? mentioned
      : ends(run.tail) || own.role === 'mention'
        ? own
        : { ...own, role: 'open' as const };
    if (bare && place.role !== 'proposal') return;
    this.#add(contents, place, run.naming, line.start + run.start, line.start + run.end);
  }

  #readNumbers(line: Line): boolean {
    const row = readNumberLine(line.text);
    if (row === undefined) return false;
    this.#closeGroup();
    if (row.label !== '') this.#closeNumbers();
    const lead = row.label === '' ? this.#lead : this.#labelled(row.label);
    this.#numbers ??= { lines: [], lead, start: line.start, end: line.end };
    this.#numbers.lines.push(row);
    this.#numbers.end = line.end;
    return true;
  }

  /** A list or an object that begins on this line. */
  #readBracket(line: Line): boolean {
    const at = line.text.search(/[[{(]/);
    if (at < 0 || line.start + at < this.#tried) return false;
    const before = line.text.slice(0, at).replace(call, '=');
    const isBulleted = bullets.test(before);
    if (!isBulleted && operator.test(before)) return false;
    const { node, end } = readNode(this.#text, this.#raw, line.start + at);
    this.#tried = end;
    if (node === undefined) return false;
    const lineEnd = this.#text.indexOf('\n', end);
    const after = this.#text.slice(end, lineEnd < 0 ? undefined : lineEnd);
    const tail = isJudged(after) ? 'score' : tailOf(after, { kind: 'word', text: '' }, true, '"\'$').kind;
    const words: Lead = isBulleted
      ? this.#lead
      : /[:=]\s*$/.test(before)
        ? this.#labelled(before)
        : { kind: 'inline', text: before };
    const found = nodeSets(node, this.#count, words, this.#section);
    // A list in the midst of a sentence is a range or a pair of anything, unless the words call it the answer.
    if (found.every(({ place }) => words.kind === 'inline' && place.role !== 'proposal')) return false;
    this.#close();
    for (const { contents, place, naming } of found) {
      const role = tail === 'score' ? 'mention' : ends(tail) ? place.role : 'open';
      this.#add(contents, { ...place, role }, naming, line.start + at, end);
    }
    this.#lead = afterSet;
    this.#consumed = end;
    return true;
  }

  #readProse(line: Line): void {
    this.#closeNumbers();
    const isHeading =
      !this.#fenced && (heading.test(line.text) || bold.test(this.#raw.slice(line.start, line.end)));
    const isLabel = /[:=]\s*$/.test(line.text);
    const isComplete = this.#group !== undefined && this.#group.indices.size >= this.#count;
    if (this.#group !== undefined && !isComplete && !isHeading && !isLabel && isRemark(line.text)) return;
    if (isComplete || (!isHeading && !isLabel)) this.#closeGroup();
    if (isHeading) this.#section = line.text;
    this.#lead = isHeading && !isLabel ? { kind: 'heading', text: line.text } : proseLead(line.text);
  }

  /** @returns the line after the table that begins on line `at`; `at` where none does */
  #readTable(at: number): number {
    const [first, second] = [this.#lines[at]!.text, this.#lines[at + 1]?.text ?? ''];
    const begins = /^\s*\|/.test(first) || (first.includes('|') && /^[\s:|-]*-[\s:|-]*$/.test(second));
    if (!begins || this.#lines[at]!.start < this.#tried) return at;
    let last = at;
    while (this.#lines[last + 1]?.text.includes('|')) last++;
    const rows = this.#lines.slice(at, last + 1).map((line) => line.text);
    const [start, end] = [this.#lines[at]!.start, this.#lines[last]!.end];
    const readings = readTable(rows, this.#count);
    this.#tried = Math.max(this.#tried, readings.length === 0 ? end : 0);
    if (readings.length === 0) return at;
    this.#close();
    const place = isOfScores(rows) ? mentioned : placeOf(this.#lead, { bare: false, section: this.#section });
    for (const reading of readings) {
      const isOnly = readings.length === 1;
      const own = isOnly && isQuoted(reading) ? mentioned : isOnly && isUnclear(reading) ? unclear : place;
      this.#add(reading.contents, own, 'params', start, end);
    }
    this.#lead = afterSet;
    return last + 1;
  }
}
