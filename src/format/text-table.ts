/** A table of texts on a terminal of limited width. */

import { styleText } from 'node:util';
import { largest } from '../statistics/descriptive.js';
import { displayWidth, padded, wrapped } from './width.js';

export interface TextTable {
  readonly titles: readonly string[];
  /** Columns that stand to the right. */
  readonly right: readonly boolean[];
  /** Columns that stay beside the one before, as an interval does. */
  readonly joined: readonly boolean[];
  readonly lines: readonly (readonly string[])[];
}

const gap = 2;

/** Columns that a broken text has at least, where it is longer. */
const narrowest = 14;

/**
 * Shrinks columns of texts, and titles of numbers, as far as they can be read. Where that is not enough, the table goes on
 * below with the columns that are left, each time beside the first one, which tells what a row is of.
 */
export function fittedTable(table: TextTable, width: number): string {
  const natural = table.titles.map((_, c) => columnWidth(table, c, displayWidth));
  const least = table.titles.map((title, c) => {
    if (!table.right[c]) return Math.min(natural[c]!, Math.max(narrowest, longestWord(title)));
    return largest([longestWord(title), ...table.lines.map((line) => displayWidth(line[c]!))]);
  });
  const blocks = [...blocksOf(table.joined, least, width)];
  return blocks
    .map((block) => drawn(table, block, shrunk(block, natural, least, width)))
    .join(blocks.length > 1 ? '\n\n' : '\n');
}

function columnWidth({ titles, lines }: TextTable, c: number, widthOf: (text: string) => number): number {
  return largest([widthOf(titles[c]!), ...lines.map((line) => widthOf(line[c]!))]);
}

const longestWord = (text: string) => largest(text.split(' ').map(displayWidth));

/** Positions of the columns of each part of the table. */
function* blocksOf(
  joined: readonly boolean[],
  least: readonly number[],
  width: number,
): Generator<readonly number[]> {
  let block = [0];
  for (let c = 1; c < least.length; c++) {
    const group = joined[c + 1] ? [c, c + 1] : [c];
    if (block.length > 1 && !joined[c] && sum([...block, ...group], least) > width) {
      yield block;
      block = [0];
    }
    block.push(c);
  }
  yield block;
}

const sum = (block: readonly number[], widths: readonly number[]) =>
  block.reduce((total, c) => total + widths[c]! + gap, -gap);

/** The widths of a block: natural ones, the widest taken from until all fit. */
function shrunk(
  block: readonly number[],
  natural: readonly number[],
  least: readonly number[],
  width: number,
): readonly number[] {
  const widths = [...natural];
  const spare = (c: number) => widths[c]! - least[c]!;
  while (sum(block, widths) > width) {
    const widest = block.reduce((a, b) => (spare(b) > spare(a) ? b : a));
    // On a terminal that is too narrow for anything else the first column gives way.
    const chosen = spare(widest) > 0 ? widest : block[0]!;
    if (widths[chosen]! <= 1) break;
    widths[chosen]!--;
  }
  return widths;
}

function drawn(
  { titles, lines, right }: TextTable,
  block: readonly number[],
  widths: readonly number[],
): string {
  const row = (texts: readonly string[]): readonly string[] => {
    const cells = block.map((c) => wrapped(texts[c]!, widths[c]!));
    const height = largest(cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, i) =>
      block
        .map((c, at) => padded(cells[at]![i] ?? '', widths[c]!, right[c] ? 'before' : 'after'))
        .join(' '.repeat(gap))
        .trimEnd(),
    );
  };
  return [...row(titles).map((line) => styleText('dim', line)), ...lines.flatMap(row)].join('\n');
}
