/** A table of figures names its rows and script, or states that it is a single observation, with the date. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';

const pages = [
  'README.md',
  ...['docs', 'models', 'examples'].flatMap((folder) =>
    readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md') && !/^(log|reference)\//.test(file))
      .map((file) => join(folder, file)),
  ),
];

/** A row of a table with an interval, a margin, a factor or a bold figure: a measurement. */
const measured = /^\|.*(±|\[[−+-]?[\d.,]+, [−+-]?[\d.,]+\]|\d (×|x) TRL|\*\*[−+]?\d)/m;
const explained =
  /results[\w.-]*\.csv|bench\/rows\/[\w-]+|scripts\/figures\/|single observation of 20\d\d-\d\d-\d\d/;

/** Sections with figures that nothing explains. `npm run figures -- --check` checks those between the markers. */
const unexplained = (text: string) =>
  text
    .replaceAll(/<!-- (\w+) -->.*?<!-- \/\1 -->/gs, '')
    .split(/^(?=#{1,3} )/m)
    .filter((section) => measured.test(section) && !explained.test(section))
    .map((section) => section.split('\n', 1)[0]!);

it('sections with hand-written tables of measurements name a source or a day, outside log and reference', () => {
  const found = pages.flatMap((page) =>
    unexplained(readFileSync(join(packageRoot(), page), 'utf8')).map((section) => `${page}: ${section}`),
  );
  expect(found).toEqual([]);
  expect(
    pages.filter((page) => measured.test(readFileSync(join(packageRoot(), page), 'utf8'))).length,
  ).toBeGreaterThan(8);
});

it('the check finds a table that names neither a file nor a day', () => {
  const table = '## Speed\n\n| a | b |\n| --- | --- |\n| x | 0.5 [0.1, 0.9] |\n';
  expect(unexplained(`# Page\n\n${table}`)).toEqual(['## Speed']);
  expect(unexplained(`${table}\nA single observation of 2026-11-30.`)).toEqual([]);
  expect(unexplained(`<!-- figures -->\n${table}<!-- /figures -->`)).toEqual([]);
});
