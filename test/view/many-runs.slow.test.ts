import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLabels } from '../../src/runs/listing/labels.js';
import { type Browser, openBrowser } from '../support/browser.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';
import { type OpenedView, openView } from './open-view.js';
import { chromium, untilIn } from './viewed.js';

describe.skipIf(chromium === undefined)('the view of many runs in a browser', () => {
  let place: string;
  let view: OpenedView;
  let browser: Browser;
  beforeAll(async () => {
    place = temporaryDirectory();
    for (const best of [1, 2, 3])
      for (let seed = 1; seed <= 6; seed++)
        writeRun(join(place, `best-${best}-${seed}`), {
          seed,
          confirmed: 100 * best + seed,
          cost: best,
          config: { memory: { best } } as never,
        });
    for (let seed = 1; seed <= 2; seed++)
      writeRun(join(place, `lake-${seed}`), {
        seed,
        confirmed: 0.5,
        scores: [0.1, 0.2, 0.3],
        config: { environment: 'FrozenLake-v1', policy: { kind: 'q-table' }, memory: { best: 2 } } as never,
      });
    view = await openView(place);
    browser = await openBrowser(chromium!);
    await browser.evaluate(`location.href = ${JSON.stringify(view.url)}; undefined`);
    await until(`document.querySelectorAll('.items tbody tr').length === 20`);
  });
  afterAll(async () => {
    await browser?.close();
    await view?.close();
  });

  const until = (expression: string) => untilIn(browser)(expression);
  const texts = (selector: string) =>
    browser.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.innerText.replace(/\\s+/g, ' ').trim())`,
    );
  const address = () => browser.evaluate<string>(`decodeURIComponent(location.search)`);
  /** Types into a field and leaves it. */
  const type = (selector: string, value: string) =>
    browser.evaluate(
      `{ const field = document.querySelector(${JSON.stringify(selector)}); field.focus(); field.value = ${JSON.stringify(value)};
      for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true })); }`,
    );
  const click = (selector: string, text: string) =>
    browser.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.innerText.trim() === ${JSON.stringify(text)}).click()`,
    );
  const reload = async () =>
    browser.open(await browser.evaluate<string>('location.href'), { width: 1440, dark: false });

  it('shows groups with their statistics, even after a reload', async () => {
    await type('#group-by', 'memory.best');
    await until(`document.querySelectorAll('tr.group').length === 4`);
    await browser.evaluate(`document.querySelector('.choices').open = true`);
    await click('.choices label', 'cost');
    await type('#filter', 'environment=Cart* memory.best=2..');
    const shown = async () => {
      await until(
        `document.querySelectorAll('tr.group').length === 2 && document.querySelector('tr.group').innerText.includes('…')`,
      );
      return texts('tr.group');
    };
    const before = await shown();
    expect(before[0]).toMatch(/^▸ 2 6 completed CartPole-v1 .* 203\.5 201\.5 … 205\.5 .* 2\.00$/);
    expect(before[1]).toContain('303.5');
    expect(await address()).toMatch(
      /filter=environment=Cart\*\+memory\.best=2\.\.&by=memory\.best&columns=status,.*,cost$/,
    );
    await reload();
    expect(await shown()).toEqual(before);
    expect(await browser.evaluate(`document.querySelector('#group-by').value`)).toBe('memory.best');
    await browser.evaluate(`document.querySelector('tr.group th button').click()`);
    await until(`document.querySelectorAll('tr.inside').length === 6`);
    expect((await texts('tr.inside th'))[0]).toBe('best-2-1');
  });

  it('compares the selected groups, even after a reload', async () => {
    await browser.evaluate(`document.querySelector('thead input').click()`);
    await click('.bulk button', 'Compare');
    const shown = async () => {
      await until(`document.querySelector('.chart path') !== null`);
      return texts('.chart-figure .legend label');
    };
    const legend = await shown();
    expect(legend).toEqual(['2 (6 runs)', '3 (6 runs)', '95 % intervals']);
    expect(await texts('.chip')).toEqual(['higher']);
    expect(await texts('#config tbody tr')).toEqual(['memory.best 2 3']);
    expect(await address()).toContain('group=["CartPole-v1",2]');
    await reload();
    expect(await shown()).toEqual(legend);
    // Tasks that can't share an axis have charts of their own.
    await browser.evaluate(`history.pushState(null, '', '/compare?by=memory.best')`);
    await reload();
    await until(`document.querySelectorAll('.chart').length === 2`);
  });

  it('tags the selected runs', async () => {
    await browser.open(new URL('/?filter=lake', view.url).href, { width: 1440 });
    await until(`document.querySelectorAll('.items tbody tr').length === 2`);
    await browser.evaluate(`document.querySelector('thead input').click()`);
    await until(`document.querySelector('.bulk button:enabled') !== null`);
    await click('.bulk button', 'Tag');
    await until(`document.querySelector('.bulk form') !== null`);
    await type('.bulk form input', 'slippery');
    await click('.bulk form button', 'Add');
    await until(`document.querySelectorAll('.items .tag').length === 2`);
    expect(readLabels(join(place, 'lake-2')).tags).toEqual(['slippery']);
  });
});
