/** Many runs in the view: config keys, groups, comparisons, tags and removal. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Item } from '../../src/runs/listing/item.js';
import { readLabels } from '../../src/runs/listing/labels.js';
import { compareRuns } from '../../src/studies/comparison/compare.js';
import type { RunComparison } from '../../src/studies/comparison/run-comparison.js';
import type { ConfigKeys, GroupMeans } from '../../src/web/messages.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun, writeTraining } from '../support/written-runs.js';
import { chartsIn, type SentPage } from '../web/shown.js';
import { authorization, type OpenedView, openView } from './open-view.js';

let place: string;
let view: OpenedView;
const groups = 10;
const seeds = 20;

const nameOf = (group: number, seed: number) => `best-${group}/seed-${seed}`;

beforeAll(async () => {
  place = temporaryDirectory();
  for (let group = 1; group <= groups; group++)
    for (let seed = 1; seed <= seeds; seed++)
      writeRun(join(place, nameOf(group, seed)), {
        seed,
        confirmed: 100 + 10 * group + ((seed * 7919 * group) % 37),
        config: { memory: { best: group }, evaluation: { episodes: 1 } } as never,
        // The last group is unfinished.
        ...(group === groups && { status: 'interrupted', reason: { kind: 'interrupted' } as never }),
      });
  writeRun(join(place, 'lake'), {
    seed: 1,
    confirmed: 0.5,
    scores: [0.1, 0.2, 0.3],
    config: { environment: 'FrozenLake-v1', policy: { kind: 'q-table' }, memory: { best: 1 } } as never,
  });
  writeFileSync(join(place, 'best-1', 'plan.json'), '{"version":1,"kind":"sweep"}');
  writeTraining(join(place, 'tuned'), [{ kind: 'start', step: 0, totalSteps: 9 }]);
  mkdirSync(join(place, 'damaged'));
  writeFileSync(join(place, 'damaged', 'manifest.json'), '{');
  view = await openView(place);
});
afterAll(() => view?.close());

const headers = { authorization, connection: 'close' };
const ask = async (path: string) => {
  const response = await fetch(new URL(path, view.url), { headers });
  return { status: response.status, body: (await response.json()) as never };
};
const get = async <T>(path: string) => (await ask(path)).body as T;

const post = async (path: string, body: object, more: Readonly<Record<string, string>> = {}) => {
  const { origin } = new URL(view.url);
  const response = await fetch(new URL(path, view.url), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', origin, ...more },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as { text?: string; error?: { message: string } },
  };
};

/** The first list of items that a page gets. */
async function items(query: string): Promise<readonly Item[]> {
  const stop = new AbortController();
  const response = await fetch(new URL(`/api/events?all&${query}`, view.url), {
    headers,
    signal: stop.signal,
  });
  let text = '';
  let found: string | undefined;
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString();
    found = /event: items\ndata: (.*)\n\n/.exec(text)?.[1];
    if (found !== undefined) break;
  }
  stop.abort();
  return (JSON.parse(found!) as { changed: readonly Item[] }).changed;
}

const byCommand = (by: string, unfinished = false): RunComparison =>
  JSON.parse(
    compareRuns(
      { runs: ['best-*', 'lake'], runsDir: place, by: [by], unfinished, json: true },
      { cwd: place, columns: undefined },
    ),
  );

describe('the list', () => {
  it('includes the config keys that the page asked for, and no others', async () => {
    const asked = await items('key=memory.best&key=no.such.key');
    const of = (name: string) => asked.find((item) => item.name === name)!;
    expect(of(nameOf(3, 1)).settings).toEqual({ 'memory.best': '3' });
    expect(of('lake').settings).toEqual({ 'memory.best': '1' });
    // Items of other kinds, and damaged ones, have none.
    for (const name of ['tuned', 'damaged', 'best-1']) expect(of(name).settings).toBeUndefined();
    const plain = await items('');
    expect(plain.every(({ settings }) => settings === undefined)).toBe(true);
  });

  it('rejects a request for too many config keys', async () => {
    const query = Array.from({ length: 51 }, (_, i) => `key=k${i}`).join('&');
    expect((await ask(`/api/events?all&${query}`)).status).toBe(400);
  });

  it('offers config keys, and reports which of them differ', async () => {
    const { different, keys } = await get<ConfigKeys>('/api/keys');
    expect(keys).toEqual(expect.arrayContaining(['memory.best', 'policy.kind', 'evaluation.episodes']));
    expect(different).toContain('memory.best');
    expect(different).not.toContain('warmup.policies');
    // The list has these as fields.
    expect(keys).not.toContain('seed');
  });
});

describe('groups', () => {
  it('have the same confirmed means and intervals as policyloop compare', async () => {
    const found = await get<Record<string, GroupMeans>>('/api/groups?by=memory.best');
    const compared = byCommand('memory.best');
    const [cartPole] = compared.tasks;
    expect(cartPole!.groups).toHaveLength(groups - 1);
    for (const { confirmed, name } of cartPole!.groups) {
      const { mean, meanInterval } = confirmed!;
      const expected = { count: seeds, mean, meanInterval };
      expect(found[JSON.stringify(['CartPole-v1', Number(name)])]!.confirmed).toEqual(expected);
    }
    // No run of the last group is complete, and one seed has no interval.
    expect(found['["CartPole-v1",10]']).toEqual({ observed: null, confirmed: null });
    expect(found['["FrozenLake-v1",1]']!.confirmed).toEqual({ count: 1, mean: 0.5, meanInterval: null });
  });

  it('contain only runs that the filter accepts, and an invalid filter is rejected', async () => {
    const found = await get<object>('/api/groups?by=memory.best&filter=memory.best%3D2..3');
    expect(Object.keys(found)).toEqual(['["CartPole-v1",2]', '["CartPole-v1",3]']);
    // On the page of a directory, its runs alone.
    const inside = await get<object>('/api/groups?by=environment&of=best-2');
    expect(inside).toMatchObject({ '["CartPole-v1","CartPole-v1"]': { confirmed: { count: seeds } } });
    const { body, status } = await ask('/api/groups?by=memory.best&filter=memory.bst%3D2');
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('did you mean memory.best?');
  });
});

describe('a comparison', () => {
  it('of groups has a chart per environment and as many "higher" verdicts as compare', async () => {
    const page = await get<SentPage>('/api/compare?by=memory.best');
    expect(chartsIn(page).map(({ series }) => series.length)).toEqual([groups - 1, 1]);
    const compared = byCommand('memory.best');
    const evident = compared.tasks[0]!.differences.filter(({ verdict }) => verdict === 'higher');
    expect(evident.length).toBeGreaterThan(0);
    const section = (wanted: string) => JSON.stringify(page.sections.find(({ id }) => id === wanted));
    expect(section('task-1').match(/chip good/g)).toHaveLength(evident.length);
    expect(section('config')).toContain('memory.best');
    expect(section('left-out')).toContain('best-10/seed-1: interrupted');
  });

  it('of chosen groups shows only those, in the order of their values', async () => {
    const chosen = [7, 2, 10].map((value) => `group=${encodeURIComponent(`["CartPole-v1",${value}]`)}`);
    const labels = async (more: string) =>
      chartsIn(await get<SentPage>(`/api/compare?by=memory.best&${chosen.join('&')}${more}`)).flatMap(
        ({ series }) => series.map(({ label }) => label),
      );
    expect(await labels('')).toEqual(['2 (20 runs)', '7 (20 runs)']);
    expect(await labels('&unfinished=1')).toEqual(['2 (20 runs)', '7 (20 runs)', '10 (20 runs)']);
  });

  it('of single runs shows each without verdicts, and rejects more than 16 runs', async () => {
    const two = await get<SentPage>(`/api/compare?of=${nameOf(1, 1)}&of=${nameOf(1, 2)}`);
    expect(chartsIn(two)[0]!.series.map(({ label }) => label)).toEqual([nameOf(1, 1), nameOf(1, 2)]);
    expect(JSON.stringify(two)).not.toContain('Differences in confirmed return');
    const { body, status } = await ask('/api/compare?of=best-2&by=run');
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('at most 16 single runs');
  });

  it('accepts directories and patterns', async () => {
    expect(chartsIn(await get<SentPage>('/api/compare?of=best-2&of=best-3%2F*'))[0]!.series).toHaveLength(2);
  });

  it.each([
    ['of=nothing', 404, 'run nothing not found'],
    ['by=no.such.key', 422, 'has this key'],
    ['of=best-10&by=config', 422, 'include unfinished runs'],
    ['of=tuned', 422, 'no runs to compare'],
  ])('%s is rejected with a message', async (query, status, message) => {
    const found = await ask(`/api/compare?${query}`);
    expect(found.status).toBe(status);
    expect(JSON.stringify(found.body)).toContain(message);
  });
});

describe('actions', () => {
  it('are accepted only as POST from pages of the view', async () => {
    const body = { of: ['lake'], add: ['x'] };
    const { status } = await fetch(new URL('/api/tag', view.url), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(status).toBe(403);
    expect((await post('/api/tag', body, { origin: 'http://evil.example' })).status).toBe(403);
    expect((await post('/api/tag', body, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask('/api/tag')).status).toBe(405);
    expect(readLabels(join(place, 'lake')).tags).toEqual([]);
    expect(existsSync(join(place, 'lake'))).toBe(true);
  });

  it('tag runs and whole directories, and groups by tag can be compared', async () => {
    expect((await post('/api/tag', { of: ['best-1', 'lake'], add: ['old'] })).body.text).toBe(
      'tagged 21 runs',
    );
    await post('/api/tag', { of: [2, 3].map((group) => nameOf(group, 1)), add: ['new', 'extra'] });
    await post('/api/tag', { of: [nameOf(2, 1)], remove: ['extra'] });
    expect(readLabels(join(place, nameOf(1, 7))).tags).toEqual(['old']);
    expect(readLabels(join(place, nameOf(2, 1))).tags).toEqual(['new']);
    const page = await get<SentPage>('/api/compare?by=tag&filter=tag%3D*%20environment%3DCart*');
    expect(chartsIn(page)[0]!.series.map(({ label }) => label)).toEqual([
      ...['extra new (1 run)', 'new (1 run)', 'old (20 runs)'],
    ]);
    expect((await post('/api/tag', { of: ['lake'], add: ['not a tag'] })).body.error!.message).toContain(
      'spaces',
    );
    expect((await post('/api/tag', { of: ['../lake'], add: ['x'] })).status).toBe(404);
  });
});
