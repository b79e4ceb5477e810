/** Text from outside on its way to a terminal: what would steer the terminal, or reorder a line, is shown instead. */

/**
 * Control characters except line break and tab, bidirectional marks, line and paragraph separators, lone
 * surrogates. See Unicode's TR 36 and https://trojansource.codes.
 */
const steering = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

const shown = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Line breaks and tabs stay. In JSON the text means the same as before, since such characters stand within strings only. */
export function harmless(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(steering, shown);
}

/** The same with lines indented behind the first: a text from outside must not look like lines of this program. */
export const harmlessLines = (text: string): string => harmless(text).replaceAll(/\n(?! )/g, '\n  ');

/** The same on one line. */
export const harmlessLine = (text: string): string => harmless(text.trim()).replaceAll(/\s*\n\s*/g, ' ');

/** The styles of this program: bold, dim, red, green, yellow, and their ends. */
const escapeCharacter = '\u001b';
const styles = new RegExp(`(${escapeCharacter}\\[(?:0|1|2|22|31|32|33|39)m)`);

/** What may be written to a stream: with the styles of this program only where it takes them. */
export function forStream(text: string, isStyled: boolean): string {
  return text
    .split(styles)
    .map((part, i) => (i % 2 === 0 ? harmless(part) : isStyled ? part : ''))
    .join('');
}
