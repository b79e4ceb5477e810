/**
 * The live view by its sizes: the list, groups, comparison and calls of 1,000 runs × 1,000 iterations (also in Chromium, where
 * it is installed), the delay from a line to those who watch, and the memory of a day of a growing log.
 * `npm run bench:view`; needs 3 GB of disk, and writes below the temporary directory.
 */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { authorizationOf } from '../src/view/admission.js';
import { startView } from '../src/view/server.js';
import { subjectOf } from '../src/view/subject.js';
import { findChromium, openBrowser } from '../test/support/browser.js';
import { writeSyntheticRun } from './synthetic-run.js';

const place = mkdtempSync(join(tmpdir(), 'policyloop-view-'));
const print = (text: string) => process.stdout.write(`${text}\n`);
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function measured<T>(title: string, work: () => Promise<T>): Promise<T> {
  const [began, used] = [performance.now(), cpu()];
  const result = await work();
  print(
    `${title}: ${Math.round(performance.now() - began)} ms, ${Math.round(cpu() - used)} ms of processor time`,
  );
  return result;
}

/** The first event of a stream that fits. */
const token = 'bench';
const entered = { headers: { authorization: authorizationOf(token) } };

async function event(
  address: string,
  isWanted: (text: string) => boolean,
  onFirst?: () => void,
): Promise<void> {
  const stop = new AbortController();
  const response = await fetch(address, { signal: stop.signal, ...entered });
  let text = '';
  let isFirst = true;
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (text.includes('\nevent: items') && text.endsWith('\n\n') && isFirst) {
      isFirst = false;
      onFirst?.();
    }
    if (isWanted(text)) break;
  }
  stop.abort();
}

async function lists(runs: number): Promise<void> {
  const first = join(place, 'many', 'run-0000');
  await writeSyntheticRun(first, { iterations: 1000, candidates: 1, history: 100 });
  for (let i = 1; i < runs; i++)
    cpSync(first, join(place, 'many', `run-${String(i).padStart(4, '0')}`), { recursive: true });
  for (let i = 0; i < runs; i++) vary(join(place, 'many', `run-${String(i).padStart(4, '0')}`), i);
  const view = await startView({
    ...{ roots: [{ path: join(place, 'many'), prefix: '' }], place: 'many', port: 0 },
    milliseconds: () => performance.now(),
    ...{ note: print, token, pages: { evaluation: () => undefined } },
  });
  const at = (path: string) => new URL(path, view.url).href;
  const all = (text: string) =>
    text.includes(`run-${String(runs - 1).padStart(4, '0')}`) && text.endsWith('\n\n');
  const ask = async (path: string) => (await fetch(at(path), entered)).text();
  await measured(`${runs} runs listed, never seen before`, () => event(at('/api/events?all'), all));
  await measured(`${runs} runs listed again`, () => event(at('/api/events?all'), all));
  for (const again of ['', ' again']) {
    await measured(`in 10 groups${again}`, () => ask('/api/groups?by=policy.high'));
    await measured(`the groups compared${again}`, () => ask('/api/compare?by=policy.high'));
  }
  const calls = `/api/calls?span=all&until=${Date.UTC(2026, 1, 1)}`;
  await measured('calls so far', () => ask(calls));
  await measured('all calls', async () => {
    while ((await ask(calls)).includes('"isPartial":true'))
      await new Promise((resolve) => setTimeout(resolve, 100));
  });
  await measured('all calls again', () => ask(calls));
  await inBrowser(view.url, runs);
  await measured('page of a run of 1,000 iterations', () => ask('/api/page?of=run-0001'));
  await measured('its iteration 900', () => ask('/api/page?of=run-0001&iteration=900'));
  await measured('an episode', () => ask('/api/episode?of=run-0001&iteration=900'));
  await measured('a text searched for in its prompts and replies', () =>
    ask('/api/search?q=nowhere&of=run-0001'),
  );
  const delays: number[] = [];
  for (let i = 0; i < 20; i++) {
    let written = 0;
    const line = { iteration: 2000 + i, candidate: 0, score: i, returns: [i], parameters: [0] };
    await event(
      at('/api/events?of=run-0002'),
      (text) => text.includes(`[${2000 + i},0,`),
      () =>
        setTimeout(() => {
          written = performance.now();
          appendFileSync(join(place, 'many', 'run-0002', 'evaluations.jsonl'), `${JSON.stringify(line)}\n`);
        }, 37 * i),
    );
    delays.push(performance.now() - written);
  }
  delays.sort((a, b) => a - b);
  print(
    `from a line to who watches: median ${Math.round(delays[10]!)} ms, longest ${Math.round(delays[19]!)} ms of 20`,
  );
  await view.close();
}

/** Makes a copy one of 10 groups, with a seed and a result of its own. */
function vary(path: string, i: number): void {
  const change = (file: string, edit: (text: string) => string) =>
    writeFileSync(join(path, file), edit(readFileSync(join(path, file), 'utf8')));
  const [group, seed] = [i % 10, Math.floor(i / 10)];
  change('config.yaml', (text) =>
    text.replace(/^seed: .*$/m, `seed: ${seed}`).replace('high: 6', `high: ${6 + group}`),
  );
  const mean = 100 + 10 * group + ((i * 7919) % 100) / 4;
  const final = { stage: 'final', iteration: 1, candidate: 0, parameters: [0], observed: mean, mean };
  const confirmations = [{ ...final, ci95: [mean - 5, mean + 5], episodes: 100 }];
  const model = 'openai/gpt-5-mini';
  change('manifest.json', (text) => JSON.stringify({ ...JSON.parse(text), seed, model, confirmations }));
}

/** From a click to the page that shows everything. */
async function inBrowser(url: string, runs: number): Promise<void> {
  const program = findChromium();
  if (program === undefined) {
    print('no Chromium: not measured in a browser');
    return;
  }
  const browser = await openBrowser(program);
  const until = async (expression: string) => {
    while (!(await browser.evaluate<boolean>(expression).catch(() => false)))
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const show = async (address: string, expression: string) => {
    await browser.evaluate(`location.href = ${JSON.stringify(address)}; undefined`);
    await until(expression);
  };
  const heap = async () => {
    const bytes = await browser.evaluate<number>('performance.memory.usedJSHeapSize');
    print(`  heap of the page: ${(bytes / 1e6).toFixed(0)} MB`);
  };
  const count = `document.querySelector('.filter-form [role="status"]')?.innerText`;
  await measured('list in the browser', () => show(url, `${count} === '${runs}'`));
  await heap();
  const groups = new URL('/?by=policy.high', url).href;
  const figures = `document.querySelectorAll('tr.group').length === 10 && document.querySelector('tr.group').innerText.includes('…')`;
  await measured('groups in the browser', () => show(groups, figures));
  const compare = new URL('/compare?by=policy.high', url).href;
  await measured('comparison in the browser', () =>
    show(compare, `document.querySelector('.chart canvas') !== null`),
  );
  await heap();
  for (let i = 0; i < 20; i++)
    await show(`${compare}&unfinished=${i}`, `document.querySelector('.chart canvas') !== null`);
  await heap();
  const { heapUsed, rss } = process.memoryUsage();
  print(`  server: heap ${(heapUsed / 1e6).toFixed(0)} MB, resident ${(rss / 1e6).toFixed(0)} MB`);
  await browser.close();
}

/** A line a second for 24 hours, looked at after each, as fast as it goes. */
function day(): void {
  const path = join(place, 'day');
  cpSync(join(place, 'many', 'run-0000'), path, { recursive: true });
  const file = join(path, 'evaluations.jsonl');
  writeFileSync(file, '');
  const subject = subjectOf({ item: { kind: 'run' } as never, path })!;
  let told = 0;
  print('a day of a line a second:');
  for (let second = 1; second <= 86_400; second++) {
    const returns = Array.from({ length: 20 }, (_, i) => (second * 7919 + i * 104_729) % 500);
    const score = returns.reduce((sum, value) => sum + value, 0) / 20;
    appendFileSync(
      file,
      `${JSON.stringify({ iteration: second, candidate: 0, parameters: [1, 2, 3, 4], returns, score })}\n`,
    );
    told += JSON.stringify(subject.look()).length;
    if (second % 14_400 !== 0) continue;
    (globalThis as { gc?: () => void }).gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    print(
      `  ${second / 3600} h: heap ${(heapUsed / 1e6).toFixed(1)} MB, resident ${(rss / 1e6).toFixed(0)} MB`,
    );
  }
  print(`  told: ${(told / 1e6).toFixed(1)} MB`);
}

try {
  await lists(1000);
  day();
} finally {
  rmSync(place, { recursive: true });
}
