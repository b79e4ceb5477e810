/** A run without a terminal asks in the view, as the commands do it: answered in a browser, killed, and gone on with. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { afterEach, expect, it } from 'vitest';
import { readRun } from '../../src/runs/reader.js';
import type { ShownQuestion } from '../../src/web/messages.js';
import { openBrowser } from '../support/browser.js';
import { type StartedCommand, startCommand } from '../support/command.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { chromium } from './viewed.js';

const hiddenParts = readFileSync(join(import.meta.dirname, '../pages/hidden-parts.js'), 'utf8');

const started: StartedCommand[] = [];
// Where a test fails, nothing waits for an answer for ever.
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

/** A project with a config that asks, a model for it, and a view. */
async function project() {
  const place = temporaryDirectory();
  let asked = 0;
  const server = await startFakeOpenAI({
    reply: () =>
      Array.from({ length: 10 }, (_, i) => `params[${i}]: ${((asked++ * 7 + i) % 50) / 10}`).join(', '),
  });
  writeFileSync(
    join(place, 'asks.yaml'),
    `environment: CartPole-v1
model: { provider: openai, name: m, baseUrl: "${server.url}" }
feedback: { from: person, every: 1 }
warmup: 2
iterations: 3
evaluation: { episodes: 3, maxSteps: 60 }
confirmation: { candidates: 1, episodes: 4 }
`,
  );
  const run = (...words: readonly string[]) => {
    const command = startCommand(place, words, { OPENAI_API_KEY: 'k' });
    started.push(command);
    return command;
  };
  const refused = await run('run', 'asks.yaml').ended;
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/asks\.yaml:3:\d+.*nobody can be asked/),
  ]);
  mkdirSync(join(place, 'buffers'));
  const view = run('view', '--port', '0', '--json');
  const line = await new Promise<string>((resolve) =>
    view.child.stdout!.once('data', (data: Buffer) => resolve(String(data))),
  );
  const { url } = JSON.parse(line) as { url: string };
  const first = run('run', 'asks.yaml', '--run-dir', 'buffers/asks');
  const early = await Promise.race([first.ended, first.wrote(/waiting for feedback/).then(() => undefined)]);
  return { place, url, view, run, first, early };
}

/** As a page does it. */
async function answering(url: string) {
  const { origin, searchParams } = new URL(url);
  const headers = {
    authorization: `Bearer ${searchParams.get('token')}`,
    ...{ origin, 'content-type': 'application/json' },
  };
  const open = async () => {
    for (;;) {
      const response = await fetch(`${origin}/api/question?of=asks`, { headers });
      const { open: question } = (await response.json()) as ShownQuestion;
      if (question) return question.question;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  return {
    open,
    async answer(body: object) {
      const question = await open();
      const sent = JSON.stringify({ of: 'asks', question, ...body });
      const response = await fetch(`${origin}/api/answer`, { method: 'POST', headers, body: sent });
      expect([response.status, await response.text()]).toEqual([200, '{"text":"answer received"}']);
      return question;
    },
  };
}

it('a run killed while a question is open asks it again after resuming', async () => {
  const { run, first, early, url, view, place: root } = await project();
  expect(early).toBeUndefined();
  const page = await answering(url);
  expect(await page.answer({ rating: 4 })).toBe('iteration 1');
  expect(await page.open()).toBe('iteration 2');
  first.child.kill('SIGKILL');
  await first.ended;
  const second = run('resume', 'buffers/asks');
  expect(await page.answer({ remark: 'it drifts' })).toBe('iteration 2');
  expect(await page.answer({})).toBe('iteration 3');
  const { code, stderr } = await second.ended;
  expect([code, stderr]).toEqual([0, expect.stringContaining('feedback: “it drifts”')]);
  const { calls, entries } = readRun(join(root, 'buffers', 'asks'));
  expect(entries.flatMap(({ feedback }) => feedback ?? [])).toMatchObject([
    { rating: 4 },
    { remark: 'it drifts' },
  ]);
  expect(calls.filter(({ purpose }) => purpose === 'feedback')).toHaveLength(3);
  view.child.kill('SIGINT');
  expect((await view.ended).code).toBe(0);
});

it.skipIf(chromium === undefined)(
  'a question is answered in the form, which keeps its input when the page is updated',
  async () => {
    const { first, early, url, view, place } = await project();
    expect(early).toBeUndefined();
    const browser = await openBrowser(chromium!);
    const until = async (expression: string) => {
      while (!(await browser.evaluate<boolean>(expression).catch(() => false)))
        await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const form = `document.querySelector('.question form')`;
    const title = `document.querySelector('.question .asked p')?.textContent ?? ''`;
    await browser.evaluate(`location.href = ${JSON.stringify(url)}; undefined`);
    await until(`document.querySelector('main table') !== null`);
    for (const [width, dark] of [
      [390, true],
      [1440, false],
    ] as const) {
      await browser.open(new URL('/of/asks', url).href, { width, dark });
      await until(`${form} !== null && document.querySelector('.question img').complete`);
      expect(await browser.evaluate<number>(`document.querySelector('.question img').naturalWidth`)).toBe(
        480,
      );
      expect(await browser.evaluate<string[]>(hiddenParts)).toEqual([]);
      await browser.evaluate(`${axe.source}; undefined`);
      const violations = await browser.evaluate<string[]>(
        `axe.run(document, { iframes: false }).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id))`,
      );
      expect(violations).toEqual([]);
    }
    expect(await browser.evaluate<string>('document.title')).toMatch(/^asks: /);
    // Nothing chosen, nothing sent.
    await browser.evaluate(`${form}.requestSubmit(); undefined`);
    await until(`${form}.querySelector('[role=status]').textContent.includes('Choose a rating')`);
    await browser.evaluate(
      `${form}.querySelector('[value="2"]').checked = true; ${form}.remark.value = '<i>falls</i>'; undefined`,
    );
    // News of the run leave what is being written.
    const log = join(place, 'buffers', 'asks', 'events.jsonl');
    writeFileSync(log, `{"time":"x","kind":"warning","message":"news"}\n`, { flag: 'a' });
    await until(`document.body.textContent.includes('news')`);
    expect(await browser.evaluate(`${form}.remark.value`)).toBe('<i>falls</i>');
    await browser.evaluate(`${form}.requestSubmit(); undefined`);
    await until(`(${title}).includes('iteration 2:')`);
    expect(await browser.evaluate(`${form}.remark.value`)).toBe('');
    await browser.evaluate(`${form}.querySelector('button[type=button]').click(); undefined`);
    await until(`(${title}).includes('iteration 3:')`);
    await browser.evaluate(
      `${form}.querySelector('[value="5"]').click(); ${form}.requestSubmit(); undefined`,
    );
    expect((await first.ended).code).toBe(0);
    await until(`${form} === null && document.querySelector('#feedback') !== null`);
    expect(await browser.evaluate<string>(`document.querySelector('#feedback').textContent`)).toContain(
      '<i>falls</i>',
    );
    const said = readRun(join(place, 'buffers', 'asks')).entries.flatMap(({ feedback }) => feedback ?? []);
    expect(said).toMatchObject([{ rating: 2, remark: '<i>falls</i>' }, { rating: 5 }]);
    await browser.close();
    view.child.kill('SIGINT');
    await view.ended;
  },
);
