/** Changes to a program, written as search-and-replace blocks. */

import { append } from '../../base/append.js';
import { ProgramFault } from './program.js';

interface EditBlock {
  /** 1-based, in the order of the reply. */
  readonly number: number;
  readonly search: readonly string[];
  readonly replace: readonly string[];
}

interface LocatedEdit extends EditBlock {
  /** 0-based line of the parent. */
  readonly line: number;
}

const openingMark = /^<{5,9} ?SEARCH$/;
const middleMark = /^={5,9}$/;
const closingMark = /^>{5,9} ?REPLACE$/;

/**
 * Applies one or more blocks
 * ```
 * <<<<<<< SEARCH
 * lines of the parent
 * =======
 * new lines
 * >>>>>>> REPLACE
 * ```
 * to the parent. All blocks refer to the unchanged parent. Trailing whitespace is ignored. If a block isn't found, it
 * is searched for again without its common indentation, and its new lines are indented to match. Text outside blocks is
 * ignored.
 * @param isCut true if the reply was cut off: an incomplete last block is ignored, too, unless it is the only one
 * @throws ProgramFault if there is no block, a block doesn't apply, or the result equals the parent
 */
export function applyEdits(parent: string, reply: string, isCut = false): string {
  const lines = parent.split(/\r?\n/).map((line) => line.trimEnd());
  const locatedEdits = blocksIn(reply, isCut)
    .map((block) => locateBlock(block, lines))
    .sort((a, b) => a.line - b.line);
  const result: string[] = [];
  let position = 0;
  for (const [i, { line, number, search, replace }] of locatedEdits.entries()) {
    if (line < position) throw editFault(number, `it overlaps block ${locatedEdits[i - 1]!.number}`, line);
    append(result, [...lines.slice(position, line), ...replace]);
    position = line + search.length;
  }
  const newSource = [...result, ...lines.slice(position)].join('\n');
  if (newSource === lines.join('\n')) throw new ProgramFault({ reason: 'the blocks change nothing' });
  return newSource;
}

/** @param at 0-based line of the parent */
const editFault = (block: number, reason: string, at?: number) =>
  new ProgramFault({
    reason: `block ${block} doesn't apply: ${reason}`,
    ...(at !== undefined && { line: at + 1 }),
  });

function blocksIn(reply: string, isCut: boolean): readonly EditBlock[] {
  const blocks: EditBlock[] = [];
  let search: string[] | undefined;
  let replace: string[] | undefined;
  for (const line of reply.split(/\r?\n/).map((text) => text.trimEnd())) {
    const number = blocks.length + 1;
    const mark = line.trim();
    if (openingMark.test(mark)) {
      if (search) throw editFault(number, 'it has no >>>>>>> REPLACE line');
      search = [];
    } else if (search && !replace && middleMark.test(mark)) replace = [];
    else if (closingMark.test(mark)) {
      if (!search) throw editFault(number, 'it has no <<<<<<< SEARCH line');
      if (!replace) throw editFault(number, 'it has no ======= line');
      blocks.push({ number, search: withoutBlankEnds(search), replace });
      search = undefined;
      replace = undefined;
    } else (replace ?? search)?.push(line);
  }
  if (search && !(isCut && blocks.length > 0))
    throw editFault(blocks.length + 1, `it has no ${replace ? '>>>>>>> REPLACE' : '======='} line`);
  if (blocks.length === 0) throw new ProgramFault({ reason: 'the reply has no <<<<<<< SEARCH block' });
  return blocks;
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '');
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1);
}

function locateBlock(block: EditBlock, lines: readonly string[]): LocatedEdit {
  const { number, search } = block;
  if (search.length === 0) throw editFault(number, 'its search part is empty');
  const exactLines = findLines(search, lines);
  if (exactLines.length === 1) return { ...block, line: exactLines[0]! };
  // Ignore common indentation only if there is no exact match.
  const looseLines = exactLines.length > 0 ? exactLines : findLines(unindent(search), lines, unindent);
  if (looseLines.length === 1) return { ...reindent(block, lines[looseLines[0]!]!), line: looseLines[0]! };
  if (looseLines.length > 1) {
    const numbers = looseLines.map((at) => at + 1).join(', ');
    throw editFault(
      number,
      `its search part occurs ${looseLines.length} times, at lines ${numbers}; add more lines`,
      looseLines[0],
    );
  }
  throw editFault(number, `the program has no lines ${quoteLines(search)}`);
}

/** Finds the 0-based line numbers at which `search` occurs in `lines`. */
function findLines(
  search: readonly string[],
  lines: readonly string[],
  normalize: (lines: readonly string[]) => readonly string[] = (same) => same,
): readonly number[] {
  return lines.flatMap((_, at) => {
    const found = normalize(lines.slice(at, at + search.length));
    return found.length === search.length && found.every((line, i) => line === search[i]) ? [at] : [];
  });
}

const indentOf = (line: string) => /^\s*/.exec(line)![0];

/** Removes the indentation that all lines share. */
function unindent(lines: readonly string[]): readonly string[] {
  const indents = lines.filter((line) => line !== '').map(indentOf);
  let common = indents[0] ?? '';
  for (const indent of indents) while (!indent.startsWith(common)) common = common.slice(0, -1);
  return lines.map((line) => line.slice(line === '' ? 0 : common.length));
}

/** Adapts the indentation of a block's new lines to the parent. @param foundLine first line found in the parent */
function reindent(block: EditBlock, foundLine: string): EditBlock {
  const searchIndent = indentOf(block.search[0]!);
  const foundIndent = indentOf(foundLine);
  const replace = block.replace.map((line) => {
    if (line === '') return line;
    if (line.startsWith(searchIndent)) return foundIndent + line.slice(searchIndent.length);
    // The line is indented less than the first line of the search part.
    const deficit = searchIndent.length - indentOf(line).length;
    return foundIndent.slice(0, Math.max(0, foundIndent.length - deficit)) + line.trimStart();
  });
  return { ...block, replace };
}

/** Quotes the first three lines on one line, without their common indentation. */
const quoteLines = (lines: readonly string[]) => {
  const quotedLines = unindent(lines)
    .slice(0, 3)
    .map((line) => `"${line}"`);
  return quotedLines.join(', ') + (lines.length > 3 ? ', …' : '');
};
