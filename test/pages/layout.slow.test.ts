/** Every page at the width of a phone and of a desktop, in a real browser; skipped if none is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFiles } from '../../src/web/drawing/chart-files.js';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { chartsIn, pageIn } from '../web/shown.js';
import { everyPage } from './every-page.js';

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The layout of pages is not tested: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

/** An expression that describes what a reader can't see. */
const hiddenParts = readFileSync(join(import.meta.dirname, 'hidden-parts.js'), 'utf8');

let pages: Readonly<Record<string, string>>;
beforeAll(async () => {
  pages = await everyPage(temporaryDirectory());
});

it('a comparison of 10 groups hides bands at first, and distinguishes lines by colour and dashes', () => {
  const charts = chartsIn(readFileSync(pages['a comparison']!, 'utf8'));
  expect(charts).toHaveLength(2);
  for (const { bands, series } of charts) {
    expect(bands?.isHidden).toBe(true);
    expect(new Set(series.map(({ color, isDashed }) => `${color} ${isDashed}`)).size).toBe(10);
  }
});

describe.skipIf(chromium === undefined)('pages in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(chromium!);
  });
  afterAll(() => browser?.close());

  it.each([
    [390, false],
    [390, true],
    [1440, false],
  ])('fit a window of %i pixels and pass some accessibility checks (dark: %s)', async (width, dark) => {
    for (const [name, file] of Object.entries(pages)) {
      await browser.open(file, { width, dark });
      expect(await browser.evaluate<string[]>(hiddenParts), name).toEqual([]);
      await browser.evaluate(`${axe.source}; undefined`);
      const rules = `{ runOnly: ['heading-order', 'empty-heading', 'empty-table-header', 'duplicate-id', 'color-contrast'] }`;
      const broken = `axe.run(document, ${rules}).then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))`;
      expect(await browser.evaluate<string[]>(broken), name).toEqual([]);
    }
  });

  it('let the user show and hide the lines and bands of a comparison with the keyboard', async () => {
    await browser.open(pages['a comparison']!, { width: 1440 });
    const drawn = () =>
      browser.evaluate<string>(
        `new Promise((resolve) => setTimeout(() => resolve(document.querySelector('#task-2 .chart').innerHTML), 200))`,
      );
    const pictures = [await drawn()];
    // All lines, the first line, all bands.
    for (const box of ['li:first-child', 'li:nth-child(2)', 'li:nth-last-child(1 of :has(input))']) {
      await browser.evaluate(`document.querySelector('#task-2 .legend ${box} input').focus()`);
      await browser.press('Space');
      pictures.push(await drawn());
    }
    expect(new Set(pictures).size).toBe(4);
  });

  it('let the user move along a chart with the keyboard', async () => {
    await browser.open(pages['a run of a linear policy']!, { width: 1440 });
    await browser.evaluate(`document.querySelector('#curve .chart').focus()`);
    for (let i = 0; i < 25; i++) await browser.press('ArrowRight');
    const link = await browser.evaluate<string>(`document.querySelector('#curve .readout a').hash`);
    await browser.press('Enter');
    expect(await browser.evaluate(`location.hash`)).toBe(link);
    const isOpen = `new Promise((resolve) => setTimeout(() => resolve(document.querySelector(location.hash).open), 200))`;
    expect(await browser.evaluate(isOpen)).toBe(true);
  });

  it('print charts in light colours', async () => {
    await browser.open(pages['a run of a linear policy']!, { width: 1440, dark: true });
    const color = `getComputedStyle([...document.querySelectorAll('#curve .line')].at(-1)).stroke`;
    expect(await browser.evaluate(color)).toBe('rgb(134, 176, 255)');
    await browser.print();
    expect(await browser.evaluate(color)).toBe('rgb(31, 85, 196)');
    expect(await browser.evaluate(`getComputedStyle(document.querySelector('.save')).display`)).toBe('none');
  });

  it('save a chart as policyloop export does, without violating the content security policy', async () => {
    const file = pages['a run of a linear policy']!;
    await browser.open(file, { width: 1440 });
    const saved = `new Promise((resolve, reject) => {
      addEventListener('securitypolicyviolation', ({ violatedDirective }) => reject(violatedDirective));
      const address = URL.createObjectURL;
      URL.createObjectURL = (blob) => (setTimeout(() => resolve(blob.text()), 500), address(blob));
      document.querySelector('#curve .save').click();
    })`;
    const [curve] = chartFiles(pageIn(readFileSync(file, 'utf8'))).values();
    expect(await browser.evaluate(saved)).toBe(curve!.svg());
  });

  it('load nothing besides the page itself', async () => {
    for (const [name, file] of Object.entries(pages)) {
      await browser.open(file, { width: 1440 });
      const asked = `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !name.startsWith('data:'))`;
      expect(await browser.evaluate<string[]>(asked), name).toEqual([]);
    }
  });
});
