/** The site of the documents: whole, small, and without a request to anywhere. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf, pages } from '../../scripts/docs/contents.js';
import { renderPage } from '../../scripts/docs/markdown.js';
import { brokenLinks, writeSite } from '../../scripts/docs/site.js';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The site is not tested in a browser: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

let site: string;
beforeAll(() => {
  site = join(temporaryDirectory(), 'site');
  writeSite(site);
});

const files = () =>
  readdirSync(site, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('the site', () => {
  it('contains all pages in less than 3 MB', () => {
    expect(pages).toContain('docs/one-iteration.md');
    for (const page of pages) expect(readFileSync(join(site, addressOf(page)), 'utf8')).toContain('<h1 id=');
    expect(files().reduce((bytes, file) => bytes + statSync(file).size, 0)).toBeLessThan(3e6);
  });

  it('loads nothing from other servers', () => {
    const loads =
      /(?:src|srcset|data|poster|action)="?(?:https?:)?\/\/|<link[^>]+href="?(?:https?:)?\/\/|url\(["']?(?:https?:)?\/\/|@import|\bfetch\(\s*['"`]|XMLHttpRequest|sendBeacon|WebSocket|\bimport\(/;
    const suspects = files().filter(
      (file) => /\.(html|css|js|svg)$/.test(file) && !file.endsWith('parts.js'),
    );
    expect(suspects.length).toBeGreaterThan(20);
    // Texts and remarks may name what scripts would load by.
    const text = (file: string) =>
      readFileSync(file, 'utf8').replaceAll(/<(pre|code)\b.*?<\/\1>|\/\*.*?\*\//gs, '');
    expect(suspects.filter((file) => loads.test(text(file)))).toEqual([]);
    expect(loads.test('<img src="https://example.org/a.png">')).toBe(true);
    expect(loads.test('p { background: url(//example.org/a.png) }')).toBe(true);
  });

  it('brokenLinks finds links to missing pages and headings', () => {
    const rendered = new Map([
      [
        'README.md',
        renderPage(
          'README.md',
          '# A\n[1](docs/runs.md#b) [2](docs/runs.md#c) [3](docs/none.md) [4](#a) [5](x/)',
        ),
      ],
      [
        'docs/runs.md',
        renderPage('docs/runs.md', '# R\n## B\n## `c`, d\n[1](#c-d) [2](../README.md#a) [3](view.md)'),
      ],
    ]);
    expect(brokenLinks(rendered)).toEqual([
      'README.md: docs/runs.md#c points to a missing heading',
      "README.md: docs/none.md isn't a page",
      "docs/runs.md: docs/view.md isn't a page",
    ]);
    expect(rendered.get('README.md')!.html).toContain('href="docs/runs.html#b"');
    expect(rendered.get('docs/runs.md')!.html).toContain('href="../index.html#a"');
  });
});

/** An expression: what a reader can't see, in words. */
const hiddenParts = readFileSync(join(import.meta.dirname, '../pages/hidden-parts.js'), 'utf8');

describe.skipIf(chromium === undefined)('the site in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(chromium!);
  });
  afterAll(() => browser?.close());

  async function until(expression: string): Promise<void> {
    while (!(await browser.evaluate<boolean>(expression).catch(() => false)))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  it.each([
    [390, true],
    [1440, false],
  ])(
    'at %i pixels, dark: %s, hides nothing, is accessible and makes no network requests',
    async (width, dark) => {
      for (const page of ['README.md', 'docs/one-iteration.md', 'docs/view.md']) {
        await browser.open(join(site, addressOf(page)), { width, dark });
        expect(await browser.evaluate<string[]>(hiddenParts), page).toEqual([]);
        await browser.evaluate(`${axe.source}; undefined`);
        const found = await browser.evaluate<{ passes: number; serious: string[] }>(
          `axe.run(document).then(({ passes, violations }) => ({ passes: passes.length, serious: violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 160)) }))`,
        );
        expect(found.serious, page).toEqual([]);
        expect(found.passes, page).toBeGreaterThan(10);
        const asked = await browser.evaluate<string[]>(
          `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !/^(data|file):/.test(name))`,
        );
        expect(asked, page).toEqual([]);
      }
    },
  );

  it('can be searched when opened from disk, without a server', async () => {
    await browser.open(join(site, 'docs/runs.html'), { width: 1440 });
    await browser.press('Slash');
    await browser.evaluate(`field.value = 'confirmation'; field.dispatchEvent(new Event('input'))`);
    await until(`document.querySelectorAll('#found a').length > 3`);
    await browser.press('Enter');
    await until(
      `/confirmation/i.test(location.href + document.body.textContent) && !location.pathname.endsWith('runs.html')`,
    );
  });
});
