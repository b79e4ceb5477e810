import { styleText } from 'node:util';

/** Columns padded to their widest cell; numbers to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, c) => Math.max(title.length, ...rows.map((row) => row[c]!.length)));
  const numeric = header.map((_, c) => rows.every((row) => /^[-+−]?[\d.,/–]*\d?%?$/.test(row[c]!)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, c) => (numeric[c] ? cell.padStart(widths[c]!) : cell.padEnd(widths[c]!)))
      .join('  ')
      .trimEnd();
  return [styleText('dim', line(header)), ...rows.map(line)].join('\n');
}
