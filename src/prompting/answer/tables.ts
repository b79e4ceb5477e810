/** Reads a Markdown table: one column (or row) of names and one of numbers make a set; more columns leave a choice. */
import { type Contents, indexedContents, listContents } from './number-set.js';
import { readValue, tailOf, type Value } from './values.js';
import { saysNothing, senseOf } from './words.js';

export interface TableReading {
  readonly contents: Contents;
  /** The title of the column that the numbers stand in. */
  readonly title: string;
}

/** Most columns of a table that names its parameters in one of them. */
const widest = 40;
const rule = /^[\s:|+-]*-[\s:|+-]*$/;
/** Titles that make other numbers of the values. */
const spoilt = /[%\u2030\u00d7\u00b1^]|\bpercent\b|\be[+-]\d|\b10\b/i;
const nameCell =
  /^["']?(?:params?|parameters?|weights?|states?|cells?|theta|w|x|p|s|q)? ?[[(_{]? ?(\d{1,9}) ?[\])}]?["']?(?: ?\([^()]*\))?$/i;
const indexTitle = /^(?:#|no\.?|n|i|k|idx|index|state|s|cell|params?|parameters?|id|number|position)?$/i;
const countingTitle = /^(?:#|no\.?|n|number|i|k|idx|index|id)$/i;
/** Titles of columns that explain; digits in them are no values. */
const noteTitle =
  /^(?:notes?|comments?|remarks?|reasons?|why|description|meaning|rationale|explanation|role|effect|name|feature|observation|action|purpose|controls?)$/i;

const valueTitle = /coefficient|gain|optim|number|amount|magnitude|level|float|integer|bias|constant/i;

/** The sets that a table may give: none, one, or one a column. */
export function readTable(lines: readonly string[], count: number): readonly TableReading[] {
  const rows = lines.filter((line) => !rule.test(line)).map(cellsOf);
  const first = rows[0] ?? [];
  const titled =
    rows.length > 1 && first.every((cell) => !/^[+-]?\d/.test(cell) && indexOf(cell) === undefined);
  const body = titled ? rows.slice(1) : rows;
  if (
    first.length === count &&
    rows.length > 1 &&
    first.every((cell, i) => indexOf(cell) === i && /\D/.test(cell))
  )
    return rows.slice(1).map((row) => ({ title: '', contents: listContents(row.map(cellValue), count) }));
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (width > widest) return [];
  const column = (i: number) => body.map((row) => row[i] ?? '');
  const title = (i: number) => (titled ? (first[i] ?? '') : '');
  const columns = Array.from({ length: width }, (_, i) => i);
  const naming = columns.filter((i) => isNames(column(i), title(i)));
  const names = naming.find((i) => /\D/.test(column(i)[0]!)) ?? naming[0];
  const counting = columns.filter((i) => i !== names && names !== undefined && countingTitle.test(title(i)));
  if (names === undefined) return [];
  const indices = namesOf(column(names));
  const numeric = columns.filter(
    (i) =>
      i !== names &&
      !counting.includes(i) &&
      !(noteTitle.test(title(i)) && column(i).some((cell) => !/^[+-]?[.\d]/.test(cell))) &&
      column(i).some((cell) => /^[<~(]*[+-]?[.\d]/.test(cell)),
  );
  return numeric.map((i) => ({
    title: title(i),
    contents: indexedContents(
      column(i).map((cell, row) => [indices[row] ?? count, cellValue(cell)] as const),
      count,
    ),
  }));
}

/** A table of evaluations quotes them. */
export const isOfScores = (lines: readonly string[]): boolean =>
  cellsOf(lines[0] ?? '').some((cell) => /\b(?:f ?\(|scores?|returns?|rewards?|iteration)\b/i.test(cell));

export const isQuoted = ({ title }: TableReading): boolean =>
  title !== '' && (spoilt.test(title) || ['mention', 'both'].includes(senseOf(title)));

/** Whether a title might tell of anything: `Correlation`, `Visits`. */
export const isUnclear = ({ title }: TableReading): boolean =>
  /[a-z]{2}/i.test(title) && !valueTitle.test(title) && senseOf(title) === 'unknown' && !saysNothing(title);

const cellsOf = (line: string): readonly string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split('|')
    .map((cell) => cell.trim());

const indexOf = (cell: string): number | undefined => {
  const digits = nameCell.exec(cell)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

function isNames(cells: readonly string[], title: string): boolean {
  if (cells.length === 0 || cells.some((cell) => indexOf(cell) === undefined)) return false;
  // Bare numbers are names where they count through, under a title that says so.
  return cells.some((cell) => /^\d+$/.test(cell)) ? indexTitle.test(title) && countsThrough(cells) : true;
}

const countsThrough = (cells: readonly string[]) => {
  const indices = cells.map((cell) => indexOf(cell)!);
  const start = Math.min(...indices.slice(0, 2));
  return start <= 1 && indices.every((index, i) => index === start + i);
};

/** Numbered from one under `#`, else the indices themselves. */
const namesOf = (cells: readonly string[]) => cells.map((cell) => indexOf(cell)!);

function cellValue(cell: string): Value {
  const read = readValue(cell, 0);
  if (read === undefined) return { kind: 'malformed', text: cell.slice(0, 24) };
  if (read.value.kind !== 'number') return read.value;
  const tail = tailOf(cell.slice(read.end), read.value, true, '');
  return tail.kind === 'delimiter' ? read.value : { kind: 'malformed', text: cell.slice(0, 24) };
}
