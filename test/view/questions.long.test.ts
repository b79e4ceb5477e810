/** A question of a run, answered on a page: by whom, and with what. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shownPages } from '../../finetune/evaluate/shown-pages.js';
import { readRun } from '../../src/runs/reader.js';
import { isViewed } from '../../src/runs/requests.js';
import { authorizationOf } from '../../src/view/admission.js';
import { markRoots } from '../../src/view/questions.js';
import { type RunningView, startView } from '../../src/view/server.js';
import { subjectOf } from '../../src/view/subject.js';
import type { Item, ShownQuestion } from '../../src/web/messages.js';
import { asking } from '../experiment/feedback/asking.js';
import { runExperimentFrom, seededModel, temporaryDirectory } from '../support/experiments.js';

const token = 'a-token-of-this-test';
let place: string;
let view: RunningView;
beforeAll(async () => {
  place = temporaryDirectory();
  view = await startView({
    ...{ roots: [{ path: place, prefix: '' }], place: 'here', port: 0 },
    milliseconds: () => performance.now(),
    ...{ note: () => undefined, token, pages: shownPages },
  });
});
afterAll(() => view?.close());

const own = () => ({
  authorization: authorizationOf(token),
  origin: new URL(view.url).origin,
  'content-type': 'application/json',
});

function ask(path: string, headers: Readonly<Record<string, string>>, method = 'GET', content = '') {
  const { hostname, port } = new URL(view.url);
  return new Promise<{ status: number; type: string | undefined; body: Buffer }>((resolve, reject) => {
    const sent = request({ host: hostname, port, path, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (chunk: Buffer) => parts.push(chunk));
      response.on('end', () =>
        resolve({
          ...{ status: response.statusCode!, type: response.headers['content-type'] },
          body: Buffer.concat(parts),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(content);
  });
}

const answer = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const sent = await ask('/api/answer', { ...own(), ...headers }, 'POST', JSON.stringify(body));
  return { status: sent.status, text: sent.body.toString() };
};

const question = async (of: string) =>
  (JSON.parse(String((await ask(`/api/question?of=${of}`, own())).body)) as ShownQuestion).open;

/** Plays a run that asks, and does something each time that it does. */
async function whileAsking(
  name: string,
  act: (open: NonNullable<ShownQuestion['open']>) => Promise<unknown>,
) {
  const path = join(place, name);
  const acts: Promise<unknown>[] = [];
  await runExperimentFrom(
    { ...asking, iterations: 4 },
    {
      ...{ path, model: seededModel() },
      onEvent(event) {
        if (event.kind !== 'feedback-asked') return;
        // Behind the event the question is opened.
        acts.push(
          new Promise((resolve) => setImmediate(resolve)).then(async () => act((await question(name))!)),
        );
      },
    },
  );
  await Promise.all(acts);
  return readRun(path).entries.flatMap(({ feedback }) => feedback ?? []);
}

it('the view shows an open question with its picture, accepts the answer, and closes it', async () => {
  const said = await whileAsking('asks', async ({ picture, question: name, text }) => {
    expect(text).toMatch(/^CartPole-v1, iteration \d: episode \d of 3, the one with the median return/);
    const { body, status, type } = await ask(picture!, own());
    expect([status, type, body.toString('latin1', 0, 6)]).toEqual([200, 'image/gif', 'GIF89a']);
    const given = name === 'iteration 2' ? { rating: 2, remark: ' drifts\n<b>right</b>\u202e ' } : {};
    const taken = await answer({ of: 'asks', question: name, ...given });
    expect(taken).toEqual({ status: 200, text: '{"text":"answer received"}' });
    expect((await ask(picture!, own())).status).toBe(409);
  });
  expect(said).toMatchObject([{ rating: 2, remark: 'drifts <b>right</b>' }]);
  expect(await question('asks')).toBeNull();
  expect((await answer({ of: 'asks', question: 'iteration 4', rating: 1 })).status).toBe(409);
  expect(existsSync(join(place, 'asks', 'control.jsonl'))).toBe(false);
});

describe('an answer is refused', () => {
  it('without the token, from another site, or if it is not a POST of JSON', async () => {
    const said = await whileAsking('stranger', async ({ question: name }) => {
      const good = { of: 'stranger', question: name, rating: 1 };
      const { authorization, origin, ...plain } = own();
      const send = (headers: Readonly<Record<string, string>>) =>
        ask('/api/answer', headers, 'POST', JSON.stringify(good)).then(({ status }) => status);
      expect(await send({ ...plain, origin })).toBe(401);
      expect(await send({ ...plain, authorization: `${authorization}x`, origin })).toBe(401);
      expect(await send({ ...plain, authorization })).toBe(403);
      expect(await send({ ...plain, authorization, origin: 'http://evil.example' })).toBe(403);
      expect(await send({ ...plain, authorization, origin: 'null' })).toBe(403);
      expect(await send({ ...plain, authorization, origin, 'sec-fetch-site': 'cross-site' })).toBe(403);
      expect(await send({ ...plain, authorization, origin, host: 'evil.example' })).toBe(403);
      expect(await send({ authorization, origin, 'content-type': 'text/plain' })).toBe(415);
      expect((await ask('/api/answer', own())).status).toBe(405);
      expect((await ask('/api/question?of=stranger', plain)).status).toBe(401);
      expect((await ask('/api/picture?of=stranger', plain)).status).toBe(401);
      await answer(good);
    });
    expect(said.map(({ rating }) => rating)).toEqual([1, 1]);
  });

  it('if it is invalid, too long, or for another question or run', async () => {
    const said = await whileAsking('strict', async ({ question: name }) => {
      const of = 'strict';
      const refused = async (body: object) => (await answer({ of, question: name, ...body })).status;
      expect(await refused({ rating: 0 })).toBe(400);
      expect(await refused({ rating: 6 })).toBe(400);
      expect(await refused({ rating: 2.5 })).toBe(400);
      expect(await refused({ rating: '3' })).toBe(400);
      expect(await refused({ remark: 'x'.repeat(501) })).toBe(400);
      expect(await refused({ remark: 'x'.repeat(40_000) })).toBe(413);
      expect(await refused({ remark: 3 })).toBe(400);
      expect(await refused({ rating: 3, iteration: 1 })).toBe(400);
      expect(await refused({ question: 'iteration 1', rating: 3 })).toBe(409);
      expect(await refused({ question: '../../x', rating: 3 })).toBe(409);
      expect(await refused({ of: '../strict', rating: 3 })).toBe(404);
      expect(await refused({ of: 'nothing', rating: 3 })).toBe(404);
      expect((await ask('/api/picture?of=strict&question=iteration%2077', own())).status).toBe(409);
      await answer({ of, question: name, remark: 'y'.repeat(500) });
    });
    expect(said.map(({ remark }) => remark!.length)).toEqual([500, 500]);
  });
});

it('the view shows no question left by a killed process, and no file except its picture', async () => {
  await whileAsking('left', ({ question: name }) => answer({ of: 'left', question: name, rating: 3 }));
  const run = join(place, 'left');
  const file = join(run, 'question.json');
  const open = { question: 'iteration 2', text: 'x', picture: 'feedback-0002.gif', by: '' };
  writeFileSync(file, JSON.stringify(open));
  expect(await question('left')).toBeNull();
  // Where a process plays the run, what it asks is shown.
  const { lockRun } = await import('../../src/storage/lock.js');
  const release = lockRun(join(run, 'run.lock'));
  try {
    // It is of another process.
    expect(await question('left')).toBeNull();
    open.by = readFileSync(join(run, 'run.lock'), 'utf8').trim();
    writeFileSync(file, JSON.stringify(open));
    expect(await question('left')).toMatchObject({ question: 'iteration 2' });
    for (const picture of ['../manifest.json', '/etc/passwd', 'feedback-2.gif', 'feedback-0002.gif/..']) {
      writeFileSync(file, JSON.stringify({ ...open, picture }));
      expect(await question('left'), picture).toBeNull();
    }
    writeFileSync(file, '{');
    expect(await question('left')).toBeNull();
    writeFileSync(file, JSON.stringify(open));
    const gif = join(run, 'animations', 'feedback-0002.gif');
    rmSync(gif);
    symlinkSync('/dev/zero', gif);
    const { body, status } = await ask('/api/picture?of=left&question=iteration%202', own());
    expect(status, String(body)).toBeGreaterThanOrEqual(400);
  } finally {
    release();
  }
});

it('a page is updated when a question opens after its event, and when it closes', () => {
  const path = join(temporaryDirectory(), 'run');
  mkdirSync(path);
  writeFileSync(join(path, 'events.jsonl'), '{"kind":"feedback-asked"}\n');
  const subject = subjectOf({ item: { kind: 'run' } as Item, path })!;
  expect(subject.look()).toEqual([]);
  // The picture takes its time.
  writeFileSync(join(path, 'question.json'), '{}');
  expect(subject.look()).toEqual([{ kind: 'stale' }]);
  expect(subject.look()).toEqual([]);
  rmSync(join(path, 'question.json'));
  expect(subject.look()).toEqual([{ kind: 'stale' }]);
});

it('the view marks an existing directory that it shows, and removes the mark afterwards', () => {
  const [there, missing] = [temporaryDirectory(), join(temporaryDirectory(), 'none')];
  const unmark = markRoots([
    { path: there, prefix: '' },
    { path: missing, prefix: 'tuned/' },
  ]);
  expect(existsSync(join(there, '.view.lock'))).toBe(true);
  unmark();
  expect(existsSync(join(there, '.view.lock'))).toBe(false);
});

it('the view creates and marks the runs directory, and removes it again if it stays empty', () => {
  const runs = join(temporaryDirectory(), 'buffers');
  const roots = [
    { path: runs, prefix: '' },
    { path: `${runs}-trained`, prefix: 'tuned/' },
  ];
  const unmark = markRoots(roots);
  expect(isViewed(join(runs, 'first'))).toBe(true);
  expect(existsSync(`${runs}-trained`)).toBe(false);
  unmark();
  expect(existsSync(runs)).toBe(false);
  const again = markRoots(roots);
  mkdirSync(join(runs, 'first'));
  again();
  expect(existsSync(join(runs, 'first'))).toBe(true);
});
