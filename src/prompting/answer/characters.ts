/**
 * Classes of characters in replies. A class is one look-up in a table, so that scanning is linear in the length of the
 * reply whatever it contains: a regular expression could backtrack.
 */
export const space = 1;
export const newline = 2;
/** Markdown emphasis, quotes, code marks and escapes: they may stand around anything. */
export const mark = 4;
/** What may stand between two items of one answer. */
export const joint = 8;
export const digit = 16;
export const letter = 32;
export const minus = 64;
export const bracket = 128;

const table = new Uint8Array(65_536);

function assign(characters: string, flag: number): void {
  for (let i = 0; i < characters.length; i++) table[characters.charCodeAt(i)]! |= flag;
}

assign(' \t\v\f\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a', space);
assign('\u200b\u200c\u200d\u202f\u205f\u2060\u3000\ufeff', space);
assign('\n\r\u2028\u2029', newline);
assign('*_`"\'\u201c\u201d\u2018\u2019~\\$', mark);
assign(',;|&\uff0c\uff1b\u3001\u2026\u00b7', joint);
assign('0123456789', digit);
assign('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', letter);
// Hyphen-minus, the true minus, the hyphens and dashes that models write for it, its small and full-width forms.
assign('-\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d', minus);
assign('[](){}', bracket);

/** Whether the character at `position` is of one of the classes in `mask`; false beyond the end. */
export function isAt(text: string, position: number, mask: number): boolean {
  return position < text.length && (table[text.charCodeAt(position)]! & mask) !== 0;
}

/** The first position from `from` on whose character is of none of the classes in `mask`, at most `limit`. */
export function skip(text: string, from: number, mask: number, limit = text.length): number {
  let position = from;
  while (position < limit && isAt(text, position, mask)) position++;
  return position;
}
