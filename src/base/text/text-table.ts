/** Fits a text table to the width of a terminal. */

import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { padText, wrapText } from './width.js';

export interface TextTable {
  readonly titles: readonly string[];
  readonly rightAligned: readonly boolean[];
  /** Per column: true if it must stay next to the previous one, as an interval must. */
  readonly mergedWithPrevious: readonly boolean[];
  readonly lines: readonly (readonly string[])[];
}

const gap = 2;

/** Text columns shrink to this width or their title's longest word; only a block's first column shrinks further. */
const minWidth = 14;

/**
 * Shrinks text columns and the titles of number columns while they remain readable. Columns that still don't fit
 * continue below in further blocks, each starting with the first column, which identifies the row.
 */
export function fitTable(table: TextTable, width: number): string {
  const cellsOf = (c: number) => table.lines.map((line) => line[c]!);
  const naturalWidths = table.titles.map((title, c) => maxWidth([title, ...cellsOf(c)]));
  const leastWidths = table.titles.map((title, c) => {
    const words = title.split(' ');
    if (table.rightAligned[c]) return maxWidth([...words, ...cellsOf(c)]);
    return Math.min(naturalWidths[c]!, Math.max(minWidth, maxWidth(words)));
  });
  const blocks = [...blocksOf(table.mergedWithPrevious, leastWidths, width)];
  return blocks
    .map((block) => drawBlock(table, block, shrinkColumns(block, naturalWidths, leastWidths, width)))
    .join(blocks.length > 1 ? '\n\n' : '\n');
}

const maxWidth = (texts: readonly string[]) =>
  texts.reduce((width, text) => Math.max(width, stringWidth(text)), 0);

function* blocksOf(
  merged: readonly boolean[],
  leastWidths: readonly number[],
  width: number,
): Generator<readonly number[]> {
  let block = [0];
  for (let c = 1; c < leastWidths.length; c++) {
    const group = merged[c + 1] ? [c, c + 1] : [c];
    if (block.length > 1 && !merged[c] && blockWidth([...block, ...group], leastWidths) > width) {
      yield block;
      block = [0];
    }
    block.push(c);
  }
  yield block;
}

const blockWidth = (block: readonly number[], widths: readonly number[]) =>
  block.reduce((total, c) => total + widths[c]! + gap, -gap);

function shrinkColumns(
  block: readonly number[],
  naturalWidths: readonly number[],
  leastWidths: readonly number[],
  width: number,
): readonly number[] {
  const widths = [...naturalWidths];
  const spare = (c: number) => widths[c]! - leastWidths[c]!;
  while (blockWidth(block, widths) > width) {
    const loosest = block.reduce((a, b) => (spare(b) > spare(a) ? b : a));
    // If no column can shrink further, shrink the first one below its minimum.
    const chosen = spare(loosest) > 0 ? loosest : block[0]!;
    if (widths[chosen]! <= 1) break;
    widths[chosen]!--;
  }
  return widths;
}

function drawBlock(
  { titles, lines, rightAligned }: TextTable,
  block: readonly number[],
  widths: readonly number[],
): string {
  const rowLines = (texts: readonly string[]): readonly string[] => {
    const cells = block.map((c) => wrapText(texts[c]!, widths[c]!));
    const height = cells.reduce((most, { length }) => Math.max(most, length), 0);
    return Array.from({ length: height }, (_, i) =>
      block
        .map((c, at) => padText(cells[at]![i] ?? '', widths[c]!, rightAligned[c] ? 'before' : 'after'))
        .join(' '.repeat(gap))
        .trimEnd(),
    );
  };
  return [...rowLines(titles).map((line) => styleText('dim', line)), ...lines.flatMap(rowLines)].join('\n');
}
