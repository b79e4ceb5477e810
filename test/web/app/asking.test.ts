// @vitest-environment jsdom
import { render } from 'preact';
import { afterAll, expect, it, vi } from 'vitest';
import { queryOf } from '../../../src/web/address.js';
import { html } from '../../../src/web/app/base/html.js';
import { useResponse } from '../../../src/web/app/base/live.js';
import { SearchPage } from '../../../src/web/app/pages/search-page.js';

vi.hoisted(() => vi.stubGlobal('matchMedia', () => new EventTarget()));

const replies = new Map<string, (body: object, status?: number) => void>();
let asked = 0;
vi.stubGlobal('fetch', (address: string) => {
  asked++;
  return new Promise((resolve) => {
    replies.set(address, (body, status = 200) => resolve(new Response(JSON.stringify(body), { status })));
  });
});

vi.useFakeTimers();
afterAll(() => vi.useRealTimers());
const settled = (isDone: () => void) => vi.waitFor(isDone, { timeout: 60_000 });
const hitIn = (of: string) => ({
  searched: 1,
  of: 1,
  hits: [{ of, iteration: 1, candidate: 0, attempt: 0, where: 'reply', before: '', match: of, after: '' }],
});

it('the search page shows the response to its last request, even if an earlier one is slower', async () => {
  const search = (q: string) =>
    render(html`<${SearchPage} query=${new URLSearchParams({ q })} />`, document.body);
  search('a');
  await settled(() => expect(replies.has('/api/search?q=a')).toBe(true));
  search('b');
  await settled(() => expect(replies.has('/api/search?q=b')).toBe(true));
  replies.get('/api/search?q=b')!(hitIn('run-b'));
  await settled(() => expect(document.querySelector('mark')?.textContent).toBe('run-b'));
  replies.get('/api/search?q=a')!(hitIn('run-a'));
  await vi.advanceTimersByTimeAsync(120);
  expect(document.querySelector('mark')?.textContent).toBe('run-b');
  search('c');
  await settled(() => expect(replies.has('/api/search?q=c')).toBe(true));
  expect(document.querySelector('mark')).toBeNull();
  replies.get('/api/search?q=c')!({ error: { message: 'too short' } }, 400);
  await settled(() => expect(document.querySelector('.failure')?.textContent).toBe('too short'));
  render(null, document.body);
});

it('useResponse combines refreshes into one request, and keeps a response until the next one arrives', async () => {
  let refresh = () => {};
  const Shown = ({ basis }: { basis: string }) => {
    const answer = useResponse<{ text: string }>('/api/groups', basis);
    refresh = answer.refresh;
    return html`<p>${answer.answer?.text ?? 'nothing'}</p>`;
  };
  const show = (basis: string) => render(html`<${Shown} basis=${basis} />`, document.body);
  asked = 0;
  show('1');
  await settled(() => expect(asked).toBe(1));
  for (let i = 0; i < 5; i++) refresh();
  replies.get('/api/groups')!({ text: 'first' });
  await settled(() => expect(document.body.textContent).toBe('first'));
  show('2');
  await settled(() => expect(asked).toBe(2));
  expect(document.body.textContent).toBe('first');
  replies.get('/api/groups')!({ text: 'second' });
  await settled(() => expect(document.body.textContent).toBe('second'));
  expect(asked).toBe(2);
  render(null, document.body);
});

it('queryOf repeats the key for each item of a list, and omits empty values', () => {
  expect(queryOf({ q: 'a b', of: ['x/1', 'y'], filter: '', within: undefined, at: 0 })).toBe(
    '?q=a+b&of=x%2F1&of=y&at=0',
  );
  expect(queryOf({ filter: '' })).toBe('');
});
