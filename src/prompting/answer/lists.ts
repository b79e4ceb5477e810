/** Reads lines of numbers alone: `1.2, -0.5`, a column of them, a numbered list, the rows of a grid. */
import { numberAt, numberValue, type Value } from './values.js';

export interface NumberLine {
  /** What stands before the numbers, up to its colon or equals sign. */
  readonly label: string;
  readonly values: readonly Value[];
  /** A dash or a plus sign and a space stand before its number: a bullet or a sign. */
  readonly dashed: boolean;
  /** Number of the item in a numbered list. */
  readonly item?: number;
  /** The one number is written with a sign of its own. */
  readonly signed: boolean;
}

const labelled = /^(?<label>(?=[^:=]*\p{L})[^:=]{1,160}[:=])\s*(?=[([{]?[+-]?[.\d])/u;
const numbered = /^\s*(\d{1,4})[.)]\s+(?=\S)/;
const dash = /^\s*[-+] +(?=[+-]?[.\d])/;

/** @returns undefined where the line holds anything but numbers, one way of setting them apart, and brackets around them */
export function readNumberLine(line: string): NumberLine | undefined {
  const label = labelled.exec(line)?.groups?.label ?? '';
  let at = label.length;
  const item = numbered.exec(line.slice(at, at + 24));
  const dashed = item === null && dash.test(line.slice(at, at + 24));
  at += item?.[0].length ?? (dashed ? dash.exec(line.slice(at, at + 24))![0].length : 0);
  while (/[ \t>\u2022"']/.test(line[at] ?? '')) at++;
  const values: Value[] = [];
  let separator: string | undefined;
  const signed = /[+-]/.test(line[at] ?? '');
  for (;;) {
    const text = numberAt(line, at, true);
    if (text === undefined) return undefined;
    values.push(numberValue(text));
    at += text.length;
    const from = at;
    while (/[ \t,;|]/.test(line[at] ?? '')) at++;
    if (/^[\s)\]}"'$]*\.?[\s)\]}"'$]*$/.test(line.slice(at, at + 16)) && line.length - at <= 16) break;
    const between = line.slice(from, at).trim();
    if (at === from || between.length > 1) return undefined;
    if (separator !== undefined && separator !== between) return undefined;
    separator = between;
  }
  return { label, values, dashed, signed, ...(item !== null && { item: Number(item[1]) }) };
}

/** Lines of numbers that follow one another, as one list; `certain` is false where a dash may be a bullet or a sign. */
export function joinLines(
  lines: readonly NumberLine[],
): { values: readonly Value[]; certain: boolean } | undefined {
  const items = lines.map(({ item }) => item);
  if (items.some((item) => item !== undefined) && items.some((item, i) => item !== i + 1)) return undefined;
  const dashes = lines.filter(({ dashed }) => dashed);
  const certain =
    dashes.length === 0 || (dashes.length === lines.length && dashes.some(({ signed }) => signed));
  return { values: lines.flatMap(({ values }) => values), certain };
}
