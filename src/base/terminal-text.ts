/**
 * Shows untrusted text on a terminal: makes characters visible that would control the terminal or reorder a
 * line.
 */

/**
 * Control characters except line break and tab, bidirectional marks, line and paragraph separators, lone
 * surrogates. See Unicode's TR 36 and https://trojansource.codes.
 */
const steering = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

const shown = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Keeps line breaks and tabs. JSON keeps its meaning, because such characters occur only in strings. */
export function harmless(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(steering, shown);
}

/**
 * The same with continuation lines indented, so that untrusted text doesn't look like this program's output.
 */
export const harmlessLines = (text: string): string => harmless(text).replaceAll(/\n(?! )/g, '\n  ');

/** The same on one line. */
export const harmlessLine = (text: string): string => harmless(text.trim()).replaceAll(/\s*\n\s*/g, ' ');

/** The styles of this program: bold, dim, red, green, yellow, and their ends. */
const escapeCharacter = '\u001b';
const styles = new RegExp(`(${escapeCharacter}\\[(?:0|1|2|22|31|32|33|39)m)`);

/** Text for a stream, with styles only if it supports them. */
export function forStream(text: string, isStyled: boolean): string {
  return text
    .split(styles)
    .map((part, i) => (i % 2 === 0 ? harmless(part) : isStyled ? part : ''))
    .join('');
}
