/** The view in a real browser; skipped if none is installed. `browser.slow.test.ts` opens all its pages. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeRun } from '../support/written-runs.js';
import { chromium, expectAllShown, of, type Viewed, viewed } from './viewed.js';

describe.skipIf(chromium === undefined)('the view in a browser', () => {
  let view: Viewed;
  let browser: Viewed['browser'];
  let until: Viewed['until'];
  let open: Viewed['open'];
  beforeAll(async () => {
    view = await viewed();
    ({ browser, open, until } = view);
  });
  afterAll(() => view?.close());

  it('opens with the printed URL, and removes the token from the address bar', async () => {
    expect(view.url).toMatch(/\?token=[\w-]{32}$/);
    expect(await browser.evaluate(`location.pathname + location.search`)).toBe('/');
    expect(await browser.evaluate(`document.cookie`)).toBe('');
  });

  it('fits a phone, without serious accessibility problems, on three kinds of pages', async () => {
    const [run, training] = [of('runs/growing'), of('runs/training')];
    await expectAllShown(view, ['/', run, training], { width: 390, dark: true });
  });

  it('shows the evaluations of each iteration once it is complete, and loses none', async () => {
    await open(of('runs/growing'));
    const log = join(view.place, 'runs', 'growing', 'evaluations.jsonl');
    const label = `document.querySelector('.chart').getAttribute('aria-label')`;
    await until(`${label}.startsWith('Learning curve of ')`);
    const first = Number(/\d+/.exec(await browser.evaluate<string>(label))![0]);
    expect(first).toBe(readFileSync(log, 'utf8').trimEnd().split('\n').length);
    const events = join(view.place, 'runs', 'growing', 'events.jsonl');
    const finished = readFileSync(events, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"iteration-finished"'));
    const last = JSON.parse(finished.at(-1)!) as { readonly lines: object };
    for (let i = 0; i < 5; i++) {
      const returns = [100 + i, 300 + i];
      appendFileSync(
        log,
        `${JSON.stringify({ iteration: 31 + i, candidate: 0, score: 200 + i, returns, parameters: [1] })}\n`,
      );
      const lines = { ...last.lines, evaluations: first + i + 1 };
      appendFileSync(events, `${JSON.stringify({ ...last, iteration: 31 + i, lines })}\n`);
      await until(
        `${label}.startsWith('Learning curve of ${first + i + 1} evaluations; best so far ${200 + i}')`,
      );
    }
    appendFileSync(
      join(view.place, 'runs', 'training', 'metrics.jsonl'),
      '{"kind":"step","step":61,"loss":7.25}\n',
    );
    await open(of('runs/training'));
    await until(
      `document.querySelector('.training-charts .chart')?.ariaLabel.startsWith('Loss (nats), 61 steps')`,
    );
  });

  it('scrolls to the section or entry that the URL names, and opens the entry', async () => {
    const { browser, open, until } = view;
    await open(`${of('runs/growing')}#log`);
    await until(`Math.abs(document.getElementById('log').getBoundingClientRect().top) < 60`);
    const id = await browser.evaluate<string>(`document.querySelectorAll('details.proposal')[20].id`);
    await open(`${of('runs/growing')}?#${id}`);
    await until(
      `document.getElementById('${id}')?.open && document.getElementById('${id}').getBoundingClientRect().top < innerHeight`,
    );
  });

  it('lets the keyboard focus the filter, and select and open a run', async () => {
    await open('/');
    await browser.press('Slash');
    expect(await browser.evaluate(`document.activeElement.id`)).toBe('filter');
    await browser.evaluate(`document.querySelector('tbody .choose input').focus()`);
    await browser.press('Space');
    await until(`document.querySelectorAll('tr.chosen').length === 1`);
    await browser.press('Tab');
    await browser.press('Enter');
    await until(`location.pathname.startsWith('/of/')`);
  });

  it('says that a run with a malformed name is not found', async () => {
    await browser.open(new URL('/of/100%', view.url).href, { width: 1440 });
    await until(`document.querySelector('main .failure')?.textContent === 'run 100% not found'`);
    await open(`${of('runs/growing')}#100%`);
  });

  it('shows all columns of the list at 1400 pixels', async () => {
    const training = join(view.place, 'runs', 'training', 'metrics.jsonl');
    appendFileSync(training, '{"kind":"evaluation","step":61,"meanReward":0.9875,"best":true}\n');
    writeRun(join(view.place, 'runs', 'confirmed'), { seed: 1, confirmed: 123_456 });
    await open('/', { width: 1400 });
    const text = `document.querySelector('.items').textContent`;
    await until(`${text}.includes('held-out mean return') && ${text}.includes('runs/confirmed')`);
    const hidden = `(({ clientWidth, scrollWidth }) => scrollWidth - clientWidth)(document.querySelector('.scroll'))`;
    expect(await browser.evaluate(hidden)).toBe(0);
  });

  it('focuses the field for tags when its button is clicked', async () => {
    await open('/');
    await browser.evaluate(`document.querySelector('tbody .choose input').click()`);
    const button = `document.querySelector('.bulk button[aria-expanded]')`;
    await until(`!${button}.disabled`);
    await browser.evaluate(`${button}.click()`);
    await until(`document.activeElement.name === 'tags'`);
  });

  it('filters items by field, and reports an unknown field', async () => {
    const names = `[...document.querySelectorAll('.row-link')].map((link) => link.textContent)`;
    await open('/?filter=kind%3Dtraining');
    expect((await browser.evaluate<string[]>(names)).toSorted()).toEqual([
      'hostile/training',
      'runs/training',
    ]);
    await open('/?filter=iterations%3D30..%20status%3Dcompleted');
    expect(await browser.evaluate<string[]>(names)).toContain('runs/growing');
    await browser.open(new URL('/?filter=colour%3Dred', view.url).href, { width: 1440 });
    await until(`document.querySelector('#filter-problems')?.textContent.includes('“colour” is neither')`);
  });
});
