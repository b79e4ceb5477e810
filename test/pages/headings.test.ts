import { expect, it } from 'vitest';
import { render } from '../../src/base/text/html.js';
import { bar, htmlTable, text } from '../../src/base/text/table.js';
import { renderReport } from '../../src/web/report/run-report.js';
import { frozenLake, runFixture } from '../web/report/run-fixture.js';
import { outlineProblems } from './headings.js';

it('outlineProblems finds skipped levels and empty headers', () => {
  expect(outlineProblems('<h1>a</h1><h2>b</h2><h3>c</h3><h2>d</h2>')).toEqual([]);
  expect(outlineProblems('<h1>a</h1><h3>b</h3>')).toEqual(['h3 after h1: b']);
  expect(outlineProblems('<h2>a</h2>')).toHaveLength(1);
  expect(outlineProblems('<p>a</p>')).toEqual(['no headings']);
  expect(outlineProblems('<h1>a</h1><th scope="col"> </th>')).toHaveLength(1);
});

it('a table names its untitled columns for screen readers', () => {
  const table = render(
    htmlTable(
      [0.5],
      [text('', String), bar((share) => share), text('', () => 'better', { spoken: 'verdict' })],
    ),
  );
  const headers = [...table.matchAll(/<th scope="col"[^>]*><span class="repeated">(.*?)<\/span><\/th>/g)];
  expect(headers.map(([, name]) => name)).toEqual(['name', 'share', 'verdict']);
});

it('pages skip no heading level and have no empty header', () => {
  const pages = {
    run: renderReport(runFixture({ iterations: 40, failureRate: 0.4 })),
    table: renderReport(runFixture({ task: frozenLake, iterations: 12 })),
  };
  for (const [name, html] of Object.entries(pages)) expect(outlineProblems(html), name).toEqual([]);
});
