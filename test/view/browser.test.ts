/** The view in a real browser; skipped where none is installed. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { type Browser, findChromium, openBrowser } from '../support/browser.js';
import { type StartedCommand, startCommand } from '../support/command.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';
import { hostileName, hostileTexts, writeHostileDirectory } from './hostile-directory.js';

const chromium = findChromium();
if (chromium === undefined)
  process.stderr.write(
    'The view is not tested in a browser: no Chromium on the PATH (or name it by POLICYLOOP_CHROMIUM).\n',
  );

/** An expression: what a reader can't see, in words. */
const hiddenParts = readFileSync(join(import.meta.dirname, '../pages/hidden-parts.js'), 'utf8');

const long = 'a-very-long-model-name:32b-instruct-q4_K_M-日本語';

describe.skipIf(chromium === undefined)('the view in a browser', () => {
  let place: string;
  let browser: Browser;
  let command: StartedCommand;
  let url: string;
  beforeAll(async () => {
    place = temporaryDirectory();
    await writeSyntheticRun(join(place, 'runs', 'growing'), { iterations: 30, candidates: 2, history: 5 });
    await writeSyntheticRun(join(place, 'runs', long.repeat(3)), {
      iterations: 8,
      candidates: 1,
      history: 5,
    });
    mkdirSync(join(place, 'runs', 'training'));
    writeFileSync(join(place, 'runs', 'training', 'metrics.jsonl'), trainingLog(60));
    writeFileSync(join(place, 'runs', 'training', 'training.json'), JSON.stringify(about));
    writeRun(join(place, 'runs', 'study', 'part', 'one'), { seed: 1, model: long });
    writeFileSync(join(place, 'runs', 'study', 'plan.json'), '{"kind":"controls"}');
    await writeHostileDirectory(join(place, 'hostile'));
    [browser, command] = [
      await openBrowser(chromium!),
      startCommand(place, ['view', '.', '--port', '0', '--json']),
    ];
    const line = await new Promise<string>((resolve) =>
      command.child.stdout!.once('data', (data: Buffer) => resolve(String(data))),
    );
    ({ url } = JSON.parse(line) as { url: string });
  });
  afterAll(async () => {
    await browser?.close();
    command?.child.kill('SIGINT');
    await command?.ended;
  });

  const about = {
    ...{ method: 'lora', base: { model: `/models/${long}` }, dataset: { path: 'data' }, config: { seed: 1 } },
    outcome: { ended: 'complete', step: 60 },
  };
  const trainingLog = (steps: number) =>
    [
      { kind: 'start', step: 0, totalSteps: steps, time: '2026-01-01T00:00:00.000Z' },
      ...Array.from({ length: steps }, (_, i) => ({
        kind: 'step',
        step: i + 1,
        loss: 2 / (i + 1),
        gradientNorm: 1,
      })),
      { kind: 'validation', step: steps, loss: 1, best: true },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');

  /** Waits until an expression is true. */
  async function until(expression: string): Promise<void> {
    while (!(await browser.evaluate<boolean>(expression).catch(() => false)))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async function open(
    path: string,
    view: { width: number; dark?: boolean } = { width: 1440 },
  ): Promise<void> {
    await browser.open(new URL(path, url).href, view);
    await until(`document.querySelector('main section, main table, main .hits') !== null`);
    await until(`[...document.images].every((image) => image.complete || image.loading === 'lazy')`);
  }

  const of = (name: string) => `/of/${name.split('/').map(encodeURIComponent).join('/')}`;
  const pages = [
    '/',
    of('runs/growing'),
    `${of('runs/growing')}?iteration=3`,
    of(`runs/${long.repeat(3)}`),
    of('runs/training'),
    of('runs/study'),
    '/compare?of=runs%2Fgrowing&of=runs%2Fstudy%2Fpart%2Fone',
    '/diff?a=runs%2Fgrowing&aIteration=3&b=runs%2Fgrowing&bIteration=4',
    '/search?q=rule&of=runs%2Fgrowing',
  ];

  it.each([
    [390, true],
    [1440, false],
  ])('at %i pixels, dark: %s, shows all it has, to everybody', async (width, dark) => {
    for (const path of pages) {
      await open(path, { width, dark });
      expect(await browser.evaluate<string[]>(hiddenParts), path).toEqual([]);
      await browser.evaluate(`${axe.source}; undefined`);
      const { passes, violations } = await browser.evaluate<{
        passes: number;
        violations: { id: string; impact: string; nodes: string[] }[];
      }>(
        `axe.run(document, { iframes: false }).then(({ passes, violations }) => ({ passes: passes.length, violations: violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)) })) }))`,
      );
      expect(passes, path).toBeGreaterThan(10);
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      expect(serious, path).toEqual([]);
    }
  });

  it('runs nothing that a log says, on any page', async () => {
    expect(hostileTexts).toHaveLength(50);
    const run = `hostile/${hostileName}`;
    const query = new URLSearchParams({ a: run, aIteration: '1', b: run, bIteration: '2' });
    const iterations = hostileTexts.map((_, i) => `${of(run)}?iteration=${i + 1}`);
    for (const path of [
      '/',
      of(run),
      of('hostile/training'),
      `/diff?${query}`,
      '/search?q=executed',
      ...iterations,
    ]) {
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

  it('puts a point on the screen when its line is there, and loses none', async () => {
    await open(of('runs/growing'));
    const log = join(place, 'runs', 'growing', 'evaluations.jsonl');
    const label = `document.querySelector('.chart').getAttribute('aria-label')`;
    await until(`${label}.startsWith('Learning curve of ')`);
    const first = Number(/\d+/.exec(await browser.evaluate<string>(label))![0]);
    expect(first).toBe(readFileSync(log, 'utf8').trimEnd().split('\n').length);
    for (let i = 0; i < 5; i++) {
      const returns = [100 + i, 300 + i];
      appendFileSync(
        log,
        `${JSON.stringify({ iteration: 31 + i, candidate: 0, score: 200 + i, returns, parameters: [1] })}\n`,
      );
      await until(
        `${label}.startsWith('Learning curve of ${first + i + 1} evaluations; best so far ${200 + i}')`,
      );
    }
    appendFileSync(
      join(place, 'runs', 'training', 'metrics.jsonl'),
      '{"kind":"step","step":61,"loss":7.25}\n',
    );
    await open(of('runs/training'));
    await until(`document.querySelector('.metric h3').textContent.includes('7.25')`);
  });

  it('is used by the keyboard', async () => {
    await open('/');
    await browser.press('Slash');
    expect(await browser.evaluate(`document.activeElement.id`)).toBe('filter');
    await browser.evaluate(`document.activeElement.blur()`);
    await browser.press('j');
    await browser.press('x');
    await browser.press('j');
    await browser.press('x');
    await until(`document.querySelectorAll('tr.chosen').length === 2`);
    await browser.press('Enter');
    await until(`location.pathname.startsWith('/of/')`);
  });

  it('filters as `list` does, and says what it does not know', async () => {
    const names = `[...document.querySelectorAll('.row-link')].map((link) => link.textContent)`;
    await open('/?filter=kind%3Dtraining');
    expect((await browser.evaluate<string[]>(names)).toSorted()).toEqual([
      'hostile/training',
      'runs/training',
    ]);
    await open('/?filter=iterations%3D30..%20status%3Dcompleted');
    expect(await browser.evaluate<string[]>(names)).toContain('runs/growing');
    await browser.open(new URL('/?filter=colour%3Dred', url).href, { width: 1440 });
    await until(`document.querySelector('#filter-help')?.textContent.includes('there is no key colour')`);
  });
});
