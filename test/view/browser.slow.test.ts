/** The view in a real browser, all its pages; skipped if none is installed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileName, hostileTexts } from './hostile-directory.js';
import { chromium, expectAllShown, of, pages, type Viewed, viewed } from './viewed.js';

describe.skipIf(chromium === undefined)('the view in a browser', () => {
  let view: Viewed;
  beforeAll(async () => {
    view = await viewed();
  });
  afterAll(() => view?.close());

  it.each([
    [390, true],
    [1440, false],
  ])('fits a window of %i pixels, without serious accessibility problems (dark: %s)', async (width, dark) => {
    await expectAllShown(view, pages, { width, dark });
  });

  it('executes nothing from hostile logs in the list, on pages of runs or in search results', async () => {
    const { browser, open } = view;
    const run = `hostile/${hostileName}`;
    const iterations = hostileTexts.map((_, i) => `${of(run)}?iteration=${i + 1}`);
    for (const path of ['/', of(run), of('hostile/training'), '/search?q=executed', ...iterations]) {
      await open(path);
      await browser.evaluate(`for (const box of document.querySelectorAll('details')) box.open = true`);
      await browser.evaluate(`new Promise((resolve) => setTimeout(resolve, 30))`);
      expect(await browser.evaluate(`globalThis.executed ?? null`), path).toBeNull();
      const strange = `[...document.querySelectorAll('[onerror], [onload], base, object, embed, script:not([src], [type="importmap"], [type="application/json"])')].map((one) => one.outerHTML)`;
      expect(await browser.evaluate<string[]>(strange), path).toEqual([]);
      const asked = `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => !name.startsWith('data:') && !name.startsWith(location.origin))`;
      expect(await browser.evaluate<string[]>(asked), path).toEqual([]);
    }
    expect(await browser.evaluate<string>(`document.querySelector('main').textContent`)).toContain(
      'event: items',
    );
  });
});
