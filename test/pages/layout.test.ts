/** Every page at the width of a phone and of a desk, in a real browser; skipped where none is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { everyPage } from './every-page.js';

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The layout of pages is not tested: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

/** An expression: what a reader can't see, in words. */
const hiddenParts = readFileSync(join(import.meta.dirname, 'hidden-parts.js'), 'utf8');

describe.skipIf(chromium === undefined)('in a browser', () => {
  let browser: Browser;
  let pages: Readonly<Record<string, string>>;
  beforeAll(async () => {
    pages = await everyPage(temporaryDirectory());
    browser = await openBrowser(chromium!);
  });
  afterAll(() => browser?.close());

  it.each([
    [390, false],
    [390, true],
    [1440, false],
  ])('at %i pixels, dark: %s, every page shows all it has', async (width, dark) => {
    for (const [name, file] of Object.entries(pages)) {
      await browser.open(file, { width, dark });
      expect(await browser.evaluate<string[]>(hiddenParts), name).toEqual([]);
    }
  });

  it('shows and hides lines and bands of a comparison by the keyboard', async () => {
    await browser.open(pages['a comparison']!, { width: 1440 });
    const shown = (part: string) =>
      browser.evaluate<number>(
        `[...document.querySelectorAll('#task-1 svg path[data-part="${part}"]')].filter((path) => getComputedStyle(path).display !== 'none').length`,
      );
    expect([await shown('line'), await shown('band')]).toEqual([10, 0]);
    await browser.evaluate(`document.querySelector('#task-1 input[data-arm="3"][data-part="line"]').focus()`);
    await browser.press('Space');
    await browser.press('Tab');
    await browser.press('Space');
    expect([await shown('line'), await shown('band')]).toEqual([9, 1]);
    await browser.evaluate(
      `document.querySelector('#task-1 input[data-arm="all"][data-part="band"]').focus()`,
    );
    await browser.press('Space');
    expect([await shown('line'), await shown('band')]).toEqual([9, 10]);
  });

  it('says of a training that it has fallen silent, and follows it until a reader says no', async () => {
    await browser.open(pages['a training that goes on']!, { width: 1440 });
    // It was written long ago, by the clock of the test.
    expect(await browser.evaluate(`document.querySelector('#written').textContent`)).toMatch(
      /^written at \d\d:\d\d:\d\d UTC, \d+ (min|h|days) ago: it may have ended without notice$/,
    );
    await browser.evaluate(`document.querySelector('#follow').focus()`);
    await browser.press('Space');
    expect(await browser.evaluate(`document.querySelector('#follow').checked`)).toBe(false);
    await browser.open(pages['a finished training']!, { width: 1440 });
    expect(await browser.evaluate(`document.querySelector('#follow') === null`)).toBe(true);
  });

  it('asks nothing of anyone', async () => {
    for (const [name, file] of Object.entries(pages)) {
      await browser.open(file, { width: 1440 });
      const asked = `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !name.startsWith('data:'))`;
      expect(await browser.evaluate<string[]>(asked), name).toEqual([]);
    }
  });
});
