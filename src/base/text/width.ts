import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

export function padText(text: string, width: number, side: 'before' | 'after'): string {
  const spaces = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return side === 'before' ? spaces + text : text + spaces;
}

/** Truncates text to `width` columns (at least 2); truncated text ends with `…`. */
export function truncateText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  return `${wrapAnsi(text, Math.max(1, width - 1), { wordWrap: false, hard: true, trim: false }).split('\n')[0]}…`;
}

/** Wraps at spaces; breaks only overlong words. Keeps indentation and, from 40 columns, aligns text after a label. */
export function wrapText(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    if (stringWidth(line) <= width) return [line];
    const [start = ''] = (width < 40 ? /^ +/ : /^(?: +|[a-z][a-z ]{10} (?=\S))/).exec(line) ?? [];
    const prefix = start.slice(0, width - 1);
    const lines = wrapAnsi(line.slice(start.length), width - prefix.length, { hard: true }).split('\n');
    return lines.map((part, i) => (i === 0 ? prefix : ' '.repeat(prefix.length)) + part);
  });
}

export const fitText = (text: string, width: number | undefined): string =>
  width === undefined ? text : wrapText(text, width).join('\n');
