/** Makes untrusted text safe to print: escapes characters that could control a terminal or reorder a line. */

/**
 * Bidirectional marks, line and paragraph separators, byte order marks, lone surrogates, and control characters except
 * line break and tab. See Unicode's TR 36 and https://trojansource.codes.
 */
const unsafeCharacter = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

const escapeCode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes unsafe characters; CRLF becomes LF. Output of `JSON.stringify` keeps its meaning. */
export function safeText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(unsafeCharacter, escapeCode);
}

/** Like `safeText`, but indents unindented lines after the first, so they can't pass for policyloop's own output. */
export const safeLines = (text: string): string => safeText(text).replaceAll(/\n(?! )/g, '\n  ');

/** Like `safeText`, but on one line. */
export const safeLine = (text: string): string =>
  safeText(text.trim()).replaceAll(/\s+/g, (run) => (run.includes('\n') ? ' ' : run));

const escapeCharacter = '\u001b';
/** The styles that policyloop uses: bold, dim, red, green, yellow, and their resets. */
const stylePattern = new RegExp(`(${escapeCharacter}\\[(?:0|1|2|22|31|32|33|39)m)`);

/** Makes text safe for a stream; keeps policyloop's styles only if `isStyled`. */
export function streamText(text: string, isStyled: boolean): string {
  return text
    .split(stylePattern)
    .map((part, i) => (i % 2 === 0 ? safeText(part) : isStyled ? part : ''))
    .join('');
}
