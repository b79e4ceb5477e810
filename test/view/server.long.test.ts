/** What the view answers, and to whom. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { writeSyntheticRun } from '../../bench/synthetic-run.js';
import { takeLock } from '../../src/base/files/lock.js';
import type { Item } from '../../src/runs/listing/item.js';
import { findRun } from '../../src/runs/listing/names.js';
import { runFiles } from '../../src/runs/reader.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun, writeTraining } from '../support/written-runs.js';
import { elementsOf, type SentPage } from '../web/shown.js';
import { authorization, type OpenedView, openView, token } from './open-view.js';

let place: string;
let view: OpenedView;
beforeAll(async () => {
  place = temporaryDirectory();
  await writeSyntheticRun(join(place, 'a run'), { iterations: 12, candidates: 2, history: 5 });
  writeRun(join(place, 'study', 'first', 'repeat-1'), { seed: 1 });
  writeFileSync(join(place, 'study', 'plan.json'), '{"kind":"evaluation"}');
  mkdirSync(join(place, 'damaged'));
  writeFileSync(join(place, 'damaged', 'manifest.json'), '{');
  const metrics = [
    { kind: 'start', step: 0, totalSteps: 9 },
    { kind: 'step', step: 1, loss: 2 },
  ];
  writeTraining(join(place, 'tuned'), metrics, { outcome: { ended: 'interrupted', step: 1 } });
  writeFileSync(join(place, 'tuned', 'index.html'), '<script>alert(1)</script>');
  view = await openView(place);
});
afterAll(() => view?.close());

/** By hand: `fetch` sets these headers itself. */
const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET', content = '') =>
  askAsStranger(path, { authorization, ...headers }, method, content);

function askAsStranger(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
  content = '',
) {
  const url = new URL(view.url);
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const sent = request({ host: url.hostname, port: url.port, path, method, headers }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
      });
      sent.on('error', reject);
      sent.end(content);
    },
  );
}

/** Reads server-sent events until one fits. */
async function told<T>(
  path: string,
  isWanted: (event: string, data: T) => boolean,
  then?: () => void,
): Promise<T> {
  const stop = new AbortController();
  const response = await fetch(new URL(path, view.url), { signal: stop.signal, headers: { authorization } });
  let text = '';
  try {
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk as Uint8Array).toString();
      const events = text.split('\n\n');
      text = events.pop()!;
      for (const event of events) {
        const [, name = '', data = 'null'] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
        if (name === '') continue;
        const read = JSON.parse(data) as T;
        if (isWanted(name, read)) return read;
        then?.();
      }
    }
  } finally {
    stop.abort();
  }
  throw new Error('the events ended');
}

const itemsOf = async (query: string) =>
  (await told<{ changed: Item[] }>(`/api/events?${query}`, (event) => event === 'items')).changed;

const get = async <T = never>(path: string) => JSON.parse((await ask(path)).body) as T;

describe('a client with the token', () => {
  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('gets a 405 response to a %s of a page', async (method) => {
    expect((await ask('/api/page?of=a%20run', {}, method)).status).toBe(405);
  });

  it.each([
    '/api/page?of=..%2f..%2fetc%2fpasswd',
    '/assets/../server.ts',
    '/assets/__proto__',
    '/api/page?of=../a%20run',
    '/api/page?of=/etc',
    '/api/page?of=constructor',
    '/api/nothing',
    '/elsewhere',
  ])('finds nothing at %s', async (path) => {
    expect((await ask(path)).status).toBeGreaterThanOrEqual(400);
    expect((await ask(path)).status).toBeLessThan(500);
  });

  it('gets a 404 response for a symbolic link in the directory', async () => {
    symlinkSync('/etc', join(place, 'linked'));
    expect((await ask('/api/page?of=linked')).status).toBe(404);
  });
});

describe('a request without a valid Authorization header', () => {
  const everywhere = [
    ...['/api/events?all', '/api/page?of=a%20run', '/api/place', '/elsewhere'],
    ...['/api/place?token=', '/api/place?token=another'],
  ];

  it('gets no data without the token in its URL, only a hint to open the printed URL', async () => {
    const wrong = [
      {},
      { cookie: `policyloop-view=${token}` },
      { authorization: token },
      { authorization: `${authorization}x` },
    ];
    for (const path of everywhere)
      for (const headers of wrong) {
        const { body, headers: said, status } = await askAsStranger(path, headers);
        expect([path, status]).toEqual([path, 401]);
        expect((JSON.parse(body) as { error: object }).error).toMatchObject({
          message: 'open the address that policyloop view printed; it ends with a token',
        });
        expect(said['set-cookie']).toBeUndefined();
      }
    const person = await askAsStranger('/api/place', { accept: 'text/html,*/*' });
    expect(person.body).toMatch(/^open the address .* a token\n$/);
  });

  it('to the URL of a page gets an empty page and no cookie, even if the URL has the token', async () => {
    const { body } = await askAsStranger('/');
    expect(body).not.toMatch(/\bhere\b/);
    for (const path of ['/of/a%20run', '/compare', `/?token=${token}`, '/?token=guess']) {
      const { headers, ...answer } = await askAsStranger(path, { 'sec-fetch-site': 'cross-site' });
      expect([path, answer.status, answer.body]).toEqual([path, 200, body]);
      expect(headers['set-cookie']).toBeUndefined();
    }
    expect((await askAsStranger('/assets/app.js')).status).toBe(200);
    expect((await askAsStranger(`/?token=${token}`, { host: 'evil.example' })).status).toBe(403);
  });

  it('is answered if it is a GET and its URL has the token', async () => {
    expect((await askAsStranger(`/api/place?token=${token}`)).body).toBe('{"place":"here"}');
  });

  it('cannot send a command to a run, even with the right Origin', async () => {
    const headers = { origin: new URL(view.url).origin, 'content-type': 'application/json' };
    const request = JSON.stringify({ of: 'a run' });
    expect((await askAsStranger('/api/stop', headers, 'POST', request)).status).toBe(401);
  });
});

describe('a command to a run', () => {
  const stop = (request: object, headers: Readonly<Record<string, string>>) =>
    ask('/api/stop', { 'content-type': 'application/json', ...headers }, 'POST', JSON.stringify(request));
  const own = () => ({ origin: new URL(view.url).origin });

  it('is rejected unless a page of the server sends it as a POST of JSON', async () => {
    const request = { of: 'a run' };
    expect((await stop(request, {})).status).toBe(403);
    expect((await stop(request, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await stop(request, { ...own(), 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await stop(request, { ...own(), 'content-type': 'text/plain' })).status).toBe(415);
    expect((await ask('/api/stop', own())).status).toBe(405);
  });

  it('is rejected if it is unknown or impossible for the run', async () => {
    expect((await stop({ of: 'a run', action: 'remove' }, own())).status).toBe(400);
    expect((await stop({ of: 'study' }, own())).status).toBe(400);
    expect((await stop({ of: 'tuned' }, own())).status).toBe(422);
    expect((await stop({ of: '../a run' }, own())).status).toBe(404);
    const { body, status } = await stop({ of: 'a run' }, own());
    expect([status, body]).toEqual([422, expect.stringContaining("this run isn't running")]);
    expect(existsSync(join(place, 'a run', 'stop.json'))).toBe(false);
  });
});

describe('the page of a run', () => {
  it('allows scripts and styles only from the server', async () => {
    const { body, headers } = await ask('/of/a%20run');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(body.match(/<script[^>]*>/g)).toEqual(['<script defer src="/assets/app.js">']);
    for (const [, file] of body.matchAll(/(?:src|href)="(\/[^"]+)"/g))
      expect((await ask(file!)).status).toBe(200);
  });
});

describe('the list', () => {
  it('contains every item in the directory, with its kind and status', async () => {
    const changed = await itemsOf('all');
    expect(Object.fromEntries(changed.map(({ kind, name, status }) => [name, [kind, status]]))).toEqual({
      'a run': ['run', 'completed'],
      damaged: ['run', 'failed'],
      study: ['evaluation', 'completed'],
      'study/first/repeat-1': ['run', 'completed'],
      tuned: ['training', 'interrupted'],
    });
    expect(changed.find(({ name }) => name === 'study/first/repeat-1')!.within).toBe('study');
    expect(changed.find(({ name }) => name === 'damaged')!.fault).toContain('not valid JSON');
  });

  it('reports a new run', async () => {
    const isNew = (event: string, { changed }: { changed: Item[] }) =>
      event === 'items' && changed.some(({ name }) => name === 'new');
    await told('/api/events?all', isNew, () => {
      if (!existsSync(join(place, 'new'))) writeRun(join(place, 'new'), { seed: 3 });
    });
  });
});

describe('a run', () => {
  const isStale = (event: string) => event === 'stale';

  it('has a page with the sections of its report, and a page per iteration', async () => {
    const page = (await get('/api/page?of=a%20run')) as SentPage;
    const ids = page.sections.map(({ id }) => id);
    for (const id of ['result', 'curve', 'episodes', 'parameters', 'policy', 'log', 'config'])
      expect(ids).toContain(id);
    const entries = elementsOf((await get('/api/page?of=a%20run&iteration=3')) as SentPage);
    expect(entries.find(({ attributes: { id } }) => id === 'iteration-3-1')!.attributes.open).toBe(true);
    expect((await ask('/api/page?of=a%20run&iteration=99')).status).toBe(422);
    expect((await ask('/api/page?of=a%20run&iteration=-1')).status).toBe(400);
    expect((await ask('/api/page?of=damaged')).status).toBe(422);
  });

  it('provides an SVG of an episode', async () => {
    const { body, headers } = await ask('/api/episode?of=a%20run&iteration=3&candidate=2');
    expect(headers['content-type']).toBe('image/svg+xml');
    expect(body).toMatch(/^<svg/);
    expect(body).not.toContain('<script');
  });

  it('can be searched, with one hit for a line that its prompts repeat', async () => {
    const { hits } = (await get('/api/search?q=RULE%207:&of=a%20run')) as {
      hits: { match: string; iteration: number }[];
    };
    expect(hits.map(({ iteration, match }) => [iteration, match])).toEqual([[1, 'Rule 7:']]);
    expect((await ask('/api/search?q=%20')).status).toBe(400);
  });

  it('that started last is `latest`, as on the command line', async () => {
    const newest = findRun('latest', { cwd: place, runsDir: '.' });
    const changed = await itemsOf('of=latest');
    expect(changed.map(({ name }) => join(place, name))).toEqual([newest]);
    expect((await ask('/api/page?of=latest')).status).not.toBe(404);
  });

  it('becomes stale when a line is appended', async () => {
    cpSync(join(place, 'a run'), join(place, 'grows'), { recursive: true });
    const message = await told<{ of: string }>('/api/events?of=grows', isStale, () =>
      appendFileSync(join(place, 'grows', 'evaluations.jsonl'), '{}\n'),
    );
    expect(message).toEqual({ of: 'grows' });
  });

  it('is followed by a page that opened before the run existed', async () => {
    const message = await told<{ of: string }>('/api/events?of=later', isStale, () =>
      cpSync(join(place, 'a run'), join(place, 'later'), { recursive: true }),
    );
    expect(message).toEqual({ of: 'later' });
  });

  it('is shown without importing the modules that it names', async () => {
    const path = writeRun(join(place, 'modules'), { seed: 1, config: { policy: { kind: 'linear' } } });
    const mark = join(place, 'was imported');
    const module = join(path, 'own.js');
    writeFileSync(
      module,
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, '');`,
    );
    const config = [
      'environment: CartPole-v1',
      'model: { provider: random }',
      `policy: { kind: module, path: ${module} }`,
      `evaluation: { reward: ${module} }`,
    ];
    writeFileSync(join(path, 'config.yaml'), config.join('\n'));
    expect((await ask('/api/page?of=modules')).status).toBe(200);
    expect((await ask('/api/page?of=modules&iteration=1')).status).toBe(200);
    expect((await ask('/api/episode?of=modules&iteration=1')).status).toBe(422);
    expect(existsSync(mark)).toBe(false);
  });
});

describe('a running run', () => {
  it('is asked to stop without waiting for its end', async () => {
    const run = writeRun(join(place, 'running'), { seed: 1, status: 'running' });
    const release = takeLock(join(run, runFiles.lock));
    const headers = { origin: new URL(view.url).origin, 'content-type': 'application/json' };
    const { body, status } = await ask('/api/stop', headers, 'POST', '{"of":"running"}');
    release();
    expect([status, body]).toEqual([200, '{"text":"will stop when pending work is done"}']);
    expect(existsSync(join(run, 'stop.json'))).toBe(true);
    rmSync(run, { recursive: true });
  });
});

describe('a run that failed', () => {
  afterEach(() => rmSync(join(place, 'failed'), { recursive: true }));
  const message = 'the reply contains 3 of 10 numbers';
  it.each([
    { kind: 'no-proposals', message },
    { kind: 'model-error', message },
    { kind: 'environment-error', message },
    { kind: 'no-proposals', message, limit: 'rejections' },
  ] as const)('with the reason %j is shown, searched and tagged like any other', async (reason) => {
    await writeSyntheticRun(join(place, 'failed'), { iterations: 2, candidates: 1, history: 5 });
    const file = join(place, 'failed', runFiles.manifest);
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...manifest, status: 'failed', reason }));
    const page = await ask('/api/page?of=failed');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining(message)]);
    for (const path of ['/api/page?of=failed&iteration=1', '/api/search?q=a&of=failed'])
      expect((await ask(path)).status, path).toBe(200);
    const { hits } = await get<{ hits: { of: string }[] }>('/api/search?q=rule');
    expect(hits.map(({ of }) => of)).toContain('failed');
    const headers = { origin: new URL(view.url).origin, 'content-type': 'application/json' };
    const tagged = await ask('/api/tag', headers, 'POST', '{"of":["failed"],"add":["seen"]}');
    expect([tagged.status, tagged.body]).toEqual([200, '{"text":"tagged 1 run"}']);
  });
});
