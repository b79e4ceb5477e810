/** Parses bracketed lists, lines of numbers, and tables. */
import { blank } from './plain-text.js';
import { isPlaceholder, type Value, valueAt, type WrittenSet, wholeValue } from './values.js';

const named =
  /(?:param\w*|policy|weights?|theta|\u03b8|answer|final|vector|table)["']?\s*(?:\[[\d: ]*\]\s*)?(?:[:=]|is|are)?\s*(?:[a-z.]{1,20}\()?\s*["']?$/i;
const labelled = /[\p{L}\p{N}"')\]]\s*[:=]\s*(?:[a-z.]{1,20}\()?\s*["']?$/iu;
/** Text before or after a list that marks it as an index or part of an expression. */
const before = /[\p{L}\p{N}_\]]$|[*/^%+][ \t]*$|[-+!<>]=[ \t]*$|[^\s,;:([{-][ \t]{0,4}-[ \t]*$|-$/u;
const after = /^[)\t ]*(?:[/^%+[]|-?[ \t]*[\d[]|if\b)/;
const foreignCall = /[a-z]\($(?<!(?:array|tensor|tuple|list)\()/i;
const setOf = (values: readonly Value[], label: string, start: number, end: number): WrittenSet => ({
  ...{ values: new Map(values.map((value, i) => [i, value])), conflicts: [], start, end },
  naming: named.test(label) ? 'params' : labelled.test(label) ? 'other' : 'none',
});

/** Finds all lists of numbers; nested lists are flattened. */
export function readLists(text: string): { lists: readonly WrittenSet[]; isUnfinished: boolean } {
  const lists: WrittenSet[] = [];
  let open: number[] = [];
  for (const { 0: sign, index } of text.matchAll(/[[\]()]/g)) {
    if (sign === '[' || sign === '(') {
      open = open.length < 16 ? [...open, index] : [];
      continue;
    }
    const start = open.pop() ?? index;
    if (!['[]', '()'].includes(`${text[start]}${sign}`)) {
      open = [];
      continue;
    }
    const lead = text.slice(Math.max(0, start - 80), start);
    if (before.test(lead) || foreignCall.test(lead) || after.test(text.slice(index + 1, index + 16)))
      continue;
    const items = itemsOf(text.slice(start + 1, index));
    if (items !== undefined) lists.push(setOf(items, lead.split('\n').at(-1)!, start, index + 1));
  }
  const last = open.at(-1);
  return { lists, isUnfinished: last !== undefined && /^[\s\d.,+-]{2,}$/.test(text.slice(last + 1)) };
}

function itemsOf(content: string): readonly Value[] | undefined {
  if (!/^[\s[(]*(?:["'+-]? ?\.?\d|<)/.test(content.slice(0, 200))) return undefined;
  const flat = content.replace(/(?:#|\/\/)[^\n]*|[[\]()]/g, ' ').trim();
  const items = flat.replace(/\s*[,;]$/, '').split(/[,;]/.test(flat) ? /[,;]/ : /\s+/);
  const values = items.map(wholeValue);
  return values.some((value) => value.number !== undefined || isPlaceholder(value)) ? values : undefined;
}

const numberLines =
  /^([^\n]*[:=])?((?:[ \t"']*(?:[-*+\u2022>|][ \t]+|\d{1,3}[.)][ \t]+)?[+-]? ?\.?\d[-+.\deE,;|\t ]*(?:["'})\]]+[.,]?[ \t]*)?(?:\n|$))+)/gm;
/** A key such as `params[3]:` is followed by a single value, not by a set. */
const isKey = /(?:\[ ?\d+ ?\]|^\s*\w?\d+)["')]*\s*[:=]$|[-+/]=$/;

/** Finds lines that contain only numbers, perhaps after a label; adjacent lines also form a joint set. */
export function readLines(text: string): readonly WrittenSet[] {
  const unscored = text.replace(/\bf ?\( ?param\w* ?\)[^\n]*/gi, blank);
  return [...unscored.matchAll(numberLines)].flatMap(({ 0: all, 1: label = '', 2: body = '', index }) => {
    const rows = body.trimEnd().split('\n').map(numbersOf);
    if (isKey.test(label) || rows.some((row) => row === undefined)) return [];
    const sets = rows.length === 1 ? rows : [...rows.filter((row) => row!.length > 1), rows.flat()];
    return sets.map((values) =>
      setOf(values as Value[], label, index + label.length, index + all.trimEnd().length),
    );
  });
}

function numbersOf(line: string): readonly Value[] | undefined {
  const items = line
    .replace(/^\s*(?:[-*+\u2022>|]\s+|\d{1,3}[.)]\s+)?["']?/, '')
    .replace(/["'.,;|\s})\]]+$/, '');
  const values = items.split([';', '|', ','].find((sign) => items.includes(sign)) ?? /\s+/).map(wholeValue);
  return values.every(({ number }) => number !== undefined) ? values : undefined;
}

const name =
  /^["']?(?:param\w*|weights?|theta|\u03b8|states?|cells?|[wxpsq])?[ _[({]{0,2}(\d{1,9})[\])}]?["']?(?: ?\([^()]*\))?$/i;
const isName = (cell: string) => name.test(cell);
const isNumeric = (cell: string) => /^[+-]? ?\.?\d/.test(cell);

/** Reads tables with a column of parameter names and a column of values, or with one column per parameter. */
export function readTables(text: string): readonly WrittenSet[] {
  return [...text.matchAll(/(?:^[ \t]*\|[^\n]*(?:\n|$))+/gm)].map(({ 0: table, index: start }) => {
    const rows = table
      .split('\n')
      .filter((line) => /[^\s:|+-]/.test(line))
      .map(cellsOf);
    const [titles = []] = rows;
    const isAcross = rows.length === 2 && titles.some(isName) && isNumeric(rows[1]![0]!);
    const body = titles.some(isName) ? rows : rows.slice(1);
    const [names = [], cells = []] = isAcross ? rows : columnsOf(titles, body);
    const values = new Map<number, Value>();
    names.forEach((cell, i) => {
      const value = cells[i] ?? '';
      if (isName(cell)) values.set(Number(name.exec(cell)![1]), valueAt(value, 0, value.length, true));
    });
    return { values, conflicts: [], start, end: start + table.trimEnd().length, naming: 'params' };
  });
}

/** Finds the column of names and the column of values. */
function columnsOf(titles: readonly string[], body: readonly (readonly string[])[]) {
  const columns = titles.map((title, i) => ({ title, cells: body.map((row) => row[i] ?? '') }));
  const naming = columns.filter(({ cells }) => cells.every(isName));
  const names = naming.find(({ cells }) => /\D/.test(cells[0] ?? '')) ?? naming[0];
  const valued = columns.filter(
    (one) => one !== names && !/^(?:#|no\.?|i|idx|index)$|%/i.test(one.title) && one.cells.every(isNumeric),
  );
  const values = valued.findLast(({ title }) => !valued[1] || /new|propos|final|value/i.test(title));
  return names === undefined || values === undefined ? [] : [names.cells, values.cells];
}

const cellsOf = (line: string): readonly string[] =>
  `${line.trim()} `.replace(/^\|\s{0,80}|\s{0,80}\|? $/g, '').split(/\s{0,80}\|\s{0,80}/, 4000);
