/** Measures how many terminal columns a text takes, and wraps it. */

import { stripVTControlCharacters } from 'node:util';
import { append } from '../base/append.js';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Double-width characters: East Asian Wide and Fullwidth (https://www.unicode.org/reports/tr11/), and emoji. */
const wide =
  /^(?:\p{Emoji_Presentation}|\p{RI}{2}|.\u{FE0F}|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{1B2FF}\u{20000}-\u{3FFFD}])/u;

/** Combining marks, and characters that aren't drawn. */
const undrawn = /^[\p{M}\p{Cf}\p{Cc}]+$/u;

/** Number of terminal columns; colour codes take none. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text))) width += columnsOf(segment);
  return width;
}

function columnsOf(grapheme: string): number {
  if (undrawn.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

/** Pads the text with spaces to `width` columns, before or after it. */
export function padded(text: string, width: number, side: 'before' | 'after'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return side === 'before' ? spaces + text : text + spaces;
}

/** Truncates a text to `width` columns, with `…` if it was cut. */
export function shortened(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${broken(text, Math.max(0, width - 1))[0] ?? ''}…`;
}

/** Wraps a text to `width` columns at spaces, and inside words only if they are longer. */
export function wrapped(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    if (displayWidth(line) <= width) return line;
    const lines = [''];
    for (const word of line.split(/(?<=\S)(?= )/)) {
      const joined = lines.at(-1)! + word;
      if (displayWidth(joined) <= width) lines[lines.length - 1] = joined;
      else append(lines, broken(word.trimStart(), width));
    }
    return lines.filter((part, i) => i > 0 || part !== '');
  });
}

/** Wraps a text at the width of the terminal; unchanged if there is no terminal. */
export const fitted = (text: string, width: number | undefined): string =>
  width === undefined ? text : wrapped(text, width).join('\n');

/** Splits into pieces of at most `width` columns, unless a single character is wider. */
function broken(text: string, width: number): readonly string[] {
  const pieces = [''];
  for (const { segment } of graphemes.segment(text)) {
    const last = pieces.at(-1)!;
    if (last !== '' && displayWidth(last + segment) > width) pieces.push(segment);
    else pieces[pieces.length - 1] = last + segment;
  }
  return pieces;
}
