/** Stored rows of measurements, and the pages that show figures computed from them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { gunzipSync } from 'node:zlib';
import { replaceFile } from '../../src/base/files/files.js';
import { packageRoot } from '../../src/base/package.js';

/** Reads `bench/rows/NAME.jsonl.gz`. */
export const readRows = <Row>(name: string): readonly Row[] =>
  gunzipSync(readFileSync(join(packageRoot(), 'bench', 'rows', `${name}.jsonl.gz`)))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);

export const tableOf = (header: readonly string[], lines: readonly (readonly string[])[]): string =>
  [header, header.map((_, i) => (i === 0 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');

export const withInterval = (value: number, [low, high]: readonly [number, number], digits: number): string =>
  `${value.toFixed(digits)} [${low.toFixed(digits)}, ${high.toFixed(digits)}]`;

/**
 * Prints figures; with `--page`, also writes them between the markers in a page; with `--check`, only compares them
 * with the page, and the script fails if they differ.
 */
export function publish(page: string, figures: string, part?: string): void {
  if (!process.argv.includes('--check')) process.stdout.write(figures);
  update(page, (text) => withFigures(text, figures, part));
}

/** With `--page`, writes a file; with `--check`, compares it. @param next makes the new text from the current one */
export function update(path: string, next: (text: string) => string): void {
  const file = join(packageRoot(), path);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (process.argv.includes('--page')) replaceFile(file, next(text));
  if (!process.argv.includes('--check')) return;
  const [lines, right] = [text.split('\n'), next(text).split('\n')];
  const at = right.findIndex((line, i) => line !== lines[i]);
  if (at < 0 && lines.length === right.length) return;
  process.exitCode = 1;
  process.stderr.write(`${path}:${at + 1} differs from the rows:\n  ${lines[at]}\n  ${right[at]}\n`);
}

/** Returns the text with the part between `<!-- figures -->` and `<!-- /figures -->`, or the part's name, replaced. */
export function withFigures(text: string, figures: string, part = 'figures'): string {
  const [begin, end] = [`<!-- ${part} -->`, `<!-- /${part} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${begin} and ${end} are missing`);
  return `${text.slice(0, from + begin.length)}\n${figures.trim()}\n${text.slice(to)}`;
}
