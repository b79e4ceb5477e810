// @vitest-environment jsdom
import { render } from 'preact';
import { expect, it, vi } from 'vitest';
import { html } from '../../../src/web/app/base/html.js';
import { currentAddress } from '../../../src/web/app/base/words.js';
import { CallsPage } from '../../../src/web/app/pages/calls-page.js';

vi.hoisted(() => vi.stubGlobal('matchMedia', () => new EventTarget()));

const asked: string[] = [];
vi.stubGlobal('fetch', (address: string) => {
  asked.push(address);
  const span = new URL(address, 'http://here').searchParams.get('span');
  const sections = [{ id: 'totals', title: 'Totals', html: `<p class="found">${span}</p>` }];
  const isPartial = span === 'all' && asked.filter((one) => one.includes('span=all')).length === 1;
  const page = { title: `Calls, ${span}`, header: '<h1>Calls</h1>', footer: '', isPartial, sections };
  return Promise.resolve(new Response(JSON.stringify(page), { status: 200 }));
});
Element.prototype.scrollIntoView = vi.fn();

const show = () => render(html`<${CallsPage} query=${currentAddress().query} />`, document.body);
const until = (isDone: () => boolean) => vi.waitFor(() => expect(isDone()).toBe(true), { timeout: 4000 });
const text = (selector: string) => document.querySelector(selector)?.textContent;

it('the calls page defaults to a week, keeps choices in the URL, and scrolls to its section', async () => {
  history.replaceState(null, '', '/calls#totals');
  addEventListener('popstate', show);
  show();
  await until(() => text('.found') === 'week');
  await until(() => document.title === 'Calls, week');
  await until(() => vi.mocked(Element.prototype.scrollIntoView).mock.calls.length === 1);
  expect(vi.mocked(Element.prototype.scrollIntoView).mock.contexts[0]).toBe(
    document.querySelector('#totals'),
  );
  document.querySelector<HTMLInputElement>('input[value="month"]')!.click();
  await until(() => text('.found') === 'month');
  expect(currentAddress()).toMatchObject({ page: 'calls' });
  expect(location.search).toBe('?span=month&by=model');
  const filter = document.querySelector<HTMLInputElement>('#filter')!;
  filter.value = 'model=openai*';
  filter.dispatchEvent(new Event('change', { bubbles: true }));
  await until(() => asked.at(-1)!.includes('filter=model%3Dopenai*'));
  // All for one end of the span.
  expect(new Set(asked.map((address) => /until=(\d+)/.exec(address)![1])).size).toBe(1);
  for (const control of document.querySelectorAll('input'))
    expect(control.labels!.length, control.outerHTML).toBeGreaterThan(0);
  removeEventListener('popstate', show);
  render(null, document.body);
});

it('the calls page asks again until all runs have been read', async () => {
  history.replaceState(null, '', '/calls?span=all');
  show();
  const answers = () => asked.filter((address) => address.includes('span=all')).length;
  await until(() => answers() === 2);
  await new Promise((resolve) => setTimeout(resolve, 1800));
  expect(answers()).toBe(2);
  render(null, document.body);
});
