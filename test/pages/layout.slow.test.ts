/** Every page at the width of a phone and of a desk, in a real browser; skipped where none is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf } from '../report/markup.js';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { everyPage } from './every-page.js';
import { outlineProblems } from './headings.js';

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The layout of pages is not tested: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

/** An expression: what a reader can't see, in words. */
const hiddenParts = readFileSync(join(import.meta.dirname, 'hidden-parts.js'), 'utf8');

let pages: Readonly<Record<string, string>>;
beforeAll(async () => {
  pages = await everyPage(temporaryDirectory());
});

describe('as they are written', () => {
  it('all tables stand where they can scroll, and wide ones say in each cell what it is of', () => {
    let wide = 0;
    for (const [name, file] of Object.entries(pages)) {
      const page = readFileSync(file, 'utf8');
      for (const [whole, before, attributes, head] of page.matchAll(
        /(<div class="scroll[^>]*>)?<table([^>]*)>\s*(?:<thead>(.*?)<\/thead>)?/gs,
      )) {
        expect(before, `${name}: ${whole.slice(0, 200)}`).toBeDefined();
        const columns = head?.match(/<th /g)?.length ?? 0;
        if (columns <= 4 || /class="(states|weights|grid-world|failures)/.test(attributes!)) continue;
        expect(attributes, name).toBe(' class="stack"');
        wide++;
      }
      for (const [cell] of page.matchAll(/<td class="number"[^>]*>/g)) expect(cell).not.toContain('label=""');
    }
    expect(wide).toBeGreaterThan(8);
  });

  it('no heading level is skipped, and no header is empty', () => {
    for (const [name, file] of Object.entries(pages))
      expect(outlineProblems(readFileSync(file, 'utf8')), name).toEqual([]);
  });

  it('several bands wait to be asked for, and boxes for lines and bands are controls of the keyboard', () => {
    const elements = elementsOf(readFileSync(pages['a comparison']!, 'utf8'));
    const bands = elements.filter(({ attributes }) => attributes.class?.startsWith('arm-band'));
    expect(bands).toHaveLength(20);
    expect(bands.every(({ attributes }) => 'hidden' in attributes)).toBe(true);
    const boxes = elements.filter(({ name, attributes }) => name === 'input' && 'data-arm' in attributes);
    // A line and a band for each of ten groups and for all, on two tasks.
    expect(boxes).toHaveLength(2 * 2 * 11);
    for (const { attributes } of boxes) {
      expect(attributes.type).toBe('checkbox');
      expect('checked' in attributes).toBe(attributes['data-part'] === 'line');
      expect(attributes['aria-label']).toMatch(/^(line|band) of /);
    }
    // More groups than colours: the next ones are dashed.
    const lines = elements.filter(({ attributes }) => attributes.class?.startsWith('arm-line'));
    expect(new Set(lines.map(({ attributes }) => attributes.class)).size).toBe(10);
  });

  it('nothing is loaded from anywhere', () => {
    for (const [name, file] of Object.entries(pages)) {
      const elements = elementsOf(readFileSync(file, 'utf8'));
      const policy = elements.find(
        ({ attributes }) => attributes['http-equiv'] === 'Content-Security-Policy',
      );
      expect(policy?.attributes.content, name).toContain("default-src 'none'");
      for (const { attributes } of elements)
        for (const address of [attributes.src, attributes.href])
          expect(address ?? '#', name).toMatch(/^(#|\.\/|data:)/);
    }
  });
});

describe.skipIf(chromium === undefined)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
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
