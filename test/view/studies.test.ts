/** The pages of studies in the view: from their recorded results, while they run and after. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gridResult } from '../studies/sweep/sweeps.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { writeRun } from '../support/written-runs.js';
import { elementsOf, type SentPage, visibleText } from '../web/shown.js';
import { authorization, type OpenedView, openView, token } from './open-view.js';

const headers = { authorization };
let place: string;
let view: OpenedView;

const sweepJson = (returns: Parameters<typeof gridResult>[0]) =>
  writeFileSync(join(place, 'sweep', 'sweep.json'), JSON.stringify(gridResult(returns)));

function study(name: string, plan: object): void {
  mkdirSync(join(place, name), { recursive: true });
  writeFileSync(join(place, name, 'plan.json'), JSON.stringify(plan));
}

beforeAll(async () => {
  place = temporaryDirectory();
  study('sweep', { version: 1, kind: 'sweep', settings: {} });
  for (const seed of [1, 2]) {
    const path = join(place, 'sweep', 'rate-0.1_size-8', `seed-${seed}`);
    writeRun(path, { seed, confirmed: seed, ...(seed === 2 && { status: 'running' }) });
  }
  study('damaged', { version: 1, kind: 'sweep' });
  writeFileSync(join(place, 'damaged', 'sweep.json'), '{"settings":"<img src=x>"}');
  view = await openView(place);
});
afterAll(() => view?.close());

const ask = (path: string) => fetch(new URL(path, view.url), { headers });

async function pageOf(name: string) {
  const page = (await (await ask(`/api/page?of=${name}`)).json()) as SentPage & { readonly keys?: string[] };
  return { ...page, text: visibleText(page) };
}

describe('the page of a sweep', () => {
  it('says that there is no result yet, then shows partial results, then the final result', async () => {
    expect((await pageOf('sweep')).text).toContain('no result yet');
    sweepJson((rate, size, seed) => (rate === 0.1 && size === 8 && seed === 1 ? 7 : null));
    const running = await pageOf('sweep');
    expect(running.text).toContain('rate=0.1, size=8 has the highest mean return, 7.000 over 1 seed');
    expect(running.keys).toEqual(['rate', 'size']);
    sweepJson((rate, _, seed) => rate + (seed % 3));
    const finished = await pageOf('sweep');
    expect(finished.text).toContain('rate=10, size=8 has the highest');
    expect(finished.text).toContain('36 runs complete');
    const links = elementsOf(finished).flatMap(({ attributes, name }) =>
      name === 'a' ? attributes.href : [],
    );
    expect(links).toContain('/of/sweep/rate-10_size-8/seed-1');
    expect(links.join()).not.toContain('report.html');
  });

  it('becomes stale after a new result, and not before', async () => {
    const stop = new AbortController();
    const query = `/api/events?of=sweep&token=${token}`;
    const response = await fetch(new URL(query, view.url), { headers, signal: stop.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (part: string) => {
      while (!text.includes(part)) text += (await reader.read()).value ?? '';
    };
    await readUntil('event: items');
    expect(text).not.toContain('event: stale');
    sweepJson((rate) => rate);
    await readUntil('event: stale\ndata: {"of":"sweep"}');
    stop.abort();
  });
});

describe('a study without a readable result', () => {
  it('shows why, along with its runs and its plan', async () => {
    const { sections, text } = await pageOf('damaged');
    expect(text).toContain("can't show the recorded result");
    expect(sections.map(({ id }) => id)).toEqual(['runs', 'plan']);
  });
});
