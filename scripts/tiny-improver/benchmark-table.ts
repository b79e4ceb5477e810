/**
 * Tables of what `benchmark.ts` left: `tsx scripts/tiny-improver/benchmark-table.ts <results.jsonl|directory>…
 * [--improver arm] [--json file] [--card file]`. Prints Markdown; `--card` writes it between the marks
 * `<!-- figures -->` and `<!-- /figures -->` of that file, `--json` writes all figures.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { readJsonLines } from '../../src/storage/json-lines.js';
import { benchmarkFigures } from './benchmark-figures.js';
import { benchmarkMarkdown } from './benchmark-markdown.js';
import type { Result } from './benchmark-plan.js';
import { fillBlock } from './model-card.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    improver: { type: 'string', default: 'improver' },
    json: { type: 'string' },
    card: { type: 'string' },
  },
});
const places = positionals.length > 0 ? positionals : ['buffers/tiny-improver-benchmark'];
const results = places.flatMap((place) => {
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const file = isFolder ? join(place, 'results.jsonl') : place;
  const lines = readJsonLines<Result>(file, { repair: false });
  if (lines === undefined) throw new Error(`there are no results in ${file}`);
  return lines;
});
const figures = benchmarkFigures(results, values.improver);
const markdown = benchmarkMarkdown(figures);
process.stdout.write(`${markdown}\n`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 1)}\n`);
if (values.card !== undefined) fillBlock(values.card, 'figures', markdown);
