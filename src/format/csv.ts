/** Lines of comma-separated values (RFC 4180, with line feeds); an empty cell for what there is not. */
export function csvText(lines: readonly (readonly (string | number | null | undefined)[])[]): string {
  return `${lines.map((line) => line.map(quoted).join(',')).join('\n')}\n`;
}

function quoted(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
