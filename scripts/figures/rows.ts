/** Stored rows of measurements, and the pages that show figures computed from them. */
import { readFileSync } from 'node:fs';
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

/** Prints figures; with `--page`, also writes them between the markers in a page. */
export function publish(page: string, figures: string): void {
  process.stdout.write(figures);
  if (!process.argv.includes('--page')) return;
  const file = join(packageRoot(), page);
  replaceFile(file, withFigures(readFileSync(file, 'utf8'), figures));
}

/** The text with the part between `<!-- figures -->` and `<!-- /figures -->` replaced. */
export function withFigures(text: string, figures: string): string {
  const [begin, end] = ['<!-- figures -->', '<!-- /figures -->'];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${begin} and ${end} are missing`);
  return `${text.slice(0, from + begin.length)}\n${figures.trim()}\n${text.slice(to)}`;
}
