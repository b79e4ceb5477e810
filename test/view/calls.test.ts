/** The calls over time as the view answers them. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { authorizationOf } from '../../src/view/admission.js';
import { type RunningView, startView } from '../../src/view/server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';

const token = 'a-token-of-this-test';
const until = Date.parse('2026-03-10T12:30:00Z');
let place: string;
let view: RunningView;
beforeAll(async () => {
  place = temporaryDirectory();
  for (const [name, model] of Object.entries({ one: 'openai/a<b>', two: 'ollama/c' })) {
    writeRun(join(place, name), { seed: 1, model });
    writeFileSync(join(place, name, 'calls.jsonl'), call(model.startsWith('openai') ? 0.25 : undefined));
  }
  view = await startView({
    ...{ roots: [{ path: place, prefix: '' }], place: 'here', port: 0 },
    milliseconds: () => performance.now(),
    ...{ note: () => undefined, token, pages: { evaluation: () => undefined } },
  });
});
afterAll(() => view?.close());

function call(cost?: number): string {
  const usage = { promptTokens: 100, completionTokens: 10 };
  const completion = { text: '', finishReason: 'stop', latencyMs: 1000, retries: 0, usage };
  const time = new Date(until - 60_000).toISOString();
  const outcome = { kind: 'accepted', parameters: [] };
  const place = { iteration: 1, candidate: 0, attempt: 0, messages: [], seed: 1 };
  return `${JSON.stringify({ ...place, outcome, completion, time, cost })}\n`;
}

interface Answer {
  readonly title: string;
  readonly sections: readonly { readonly id: string; readonly html: string }[];
  readonly footer: string;
}

const ask = (query: string, headers: Record<string, string> = { authorization: authorizationOf(token) }) =>
  fetch(new URL(`/api/calls?until=${until}${query}`, view.url), { headers });

async function answer(query = ''): Promise<Answer> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

const totalsOf = ({ sections }: Answer) => sections.find(({ id }) => id === 'totals')!.html;

it('the calls page shows the cost and charts of the last week by model, escaped', async () => {
  const page = await answer();
  expect(page.title).toBe('Calls, last 7 days');
  expect(page.sections.map(({ id }) => id)).toEqual(['totals', 'time']);
  expect(totalsOf(page)).toContain('<dd class="value">0.25</dd>');
  expect(totalsOf(page)).toContain('openai/a&lt;b&gt;');
  expect(totalsOf(page)).toContain('1 call without a price is left out');
  const charts = page.sections[1]!.html;
  expect(charts.match(/data-chart/g)!.length).toBeGreaterThan(3);
  expect(charts).not.toContain('a<b>');
  expect(charts).toContain('Cost per day');
});

it('the calls page accepts the filter of the index, a time span and a grouping', async () => {
  const free = totalsOf(await answer('&filter=model%3Dollama*'));
  expect(free).not.toContain('openai');
  expect(free).toContain('<dd class="value">–</dd>');
  const page = await answer('&span=day&by=purpose');
  expect(page.sections[1]!.html).toContain('Hour (UTC)');
  expect(page.sections[1]!.html).toContain('"proposals"');
  expect(totalsOf(await answer('&filter=nothing-like-this'))).toContain('No calls in this period');
});

it('the calls page includes calls appended since the last request', async () => {
  await answer();
  appendFileSync(join(place, 'one', 'calls.jsonl'), call(2));
  expect(totalsOf(await answer())).toContain('<dd class="value">2.25</dd>');
});

it.each([
  ['&span=year', 422, 'unknown time span'],
  ['&until=soon', 400, 'until'],
  ['&filter=best%3Dx', 400, 'filter'],
])('the server refuses %s', async (query, status, message) => {
  const base = query.startsWith('&until') ? query.slice(1) : `until=${until}${query}`;
  const response = await fetch(new URL(`/api/calls?${base}`, view.url), {
    headers: { authorization: authorizationOf(token) },
  });
  expect(response.status).toBe(status);
  expect(await response.text()).toContain(message);
});

it('the server refuses a request without the token', async () => {
  expect((await ask('', {})).status).toBe(401);
});
