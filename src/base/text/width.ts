import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

export function padText(text: string, width: number, side: 'before' | 'after'): string {
  const spaces = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return side === 'before' ? spaces + text : text + spaces;
}

/** Truncates text to `width` columns; truncated text ends with `…`. */
export function truncateText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return `${wrapAnsi(text, Math.max(1, width - 1), { wordWrap: false, hard: true, trim: false }).split('\n')[0]}…`;
}

/** Wraps text to `width` columns at spaces; breaks only words that are too long for a line. Keeps indentation. */
export function wrapText(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    if (stringWidth(line) <= width) return [line];
    const indent = line.slice(0, Math.min(line.search(/\S/), width - 1));
    const lines = wrapAnsi(line, width - indent.length, { hard: true }).split('\n');
    return lines.map((part) => indent + part);
  });
}

export const fitText = (text: string, width: number | undefined): string =>
  width === undefined ? text : wrapText(text, width).join('\n');
