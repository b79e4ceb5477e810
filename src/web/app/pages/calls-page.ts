/** Model calls over time: tokens, cost, latency and failures. */
import { useEffect, useState } from 'preact/hooks';
import { html } from '../base/html.js';
import { go, queryOf } from '../base/words.js';
import { Markup, Section, SectionLinks } from '../markup/sections.js';
import { usePage } from './use-page.js';

const spans = [
  ['day', '24 hours'],
  ['week', '7 days'],
  ['month', '30 days'],
  ['all', 'All time'],
];

export function CallsPage({ query }: { query: URLSearchParams }) {
  const [span, by, filter] = [
    query.get('span') ?? 'week',
    query.get('by') ?? 'model',
    query.get('filter') ?? '',
  ];
  // The same address shows the same time until the page is opened again.
  const [until] = useState(() => Date.now());
  const { page, problem } = usePage(`/api/calls${queryOf({ span, by, until, ...(filter && { filter }) })}`);
  useEffect(() => {
    document.title = page?.title ?? 'Calls';
  }, [page]);
  const change = (key: string, value: string) => {
    const all = { span, by, filter, [key]: value };
    go(`/calls${queryOf(Object.fromEntries(Object.entries(all).filter(([, own]) => own !== '')))}`, true);
  };
  const choice = (key: string, chosen: string, [value = '', label = '']: readonly string[]) =>
    html`<label><input type="radio" name=${key} value=${value} checked=${value === chosen} onChange=${() => change(key, value)} /> ${label}</label>`;
  return html`<form class="filter-form" aria-label="What to show" onSubmit=${(event: Event) => event.preventDefault()}>
<fieldset class="filter"><legend>Time</legend>${spans.map((one) => choice('span', span, one))}</fieldset>
<fieldset class="filter"><legend>Charts by</legend>${choice('by', by, ['model', 'model'])}${choice('by', by, ['purpose', 'purpose'])}</fieldset>
<label for="filter">Runs</label>
<input id="filter" type="search" value=${filter} placeholder="all, or text, or model=openai* started=2026-11.." autocomplete="off" spellcheck=${false} onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change('filter', currentTarget.value)} />
</form>
${
  page === undefined || problem !== ''
    ? html`<main><p class=${problem === '' ? 'empty' : 'failure'} role="status">${problem || 'Adding up all calls …'}</p></main>`
    : html`<${Markup} markup=${page.header} />
<${SectionLinks} sections=${page.sections} />
<main>${page.sections.map(({ id, title, html: markup }) => html`<${Section} key=${`${span} ${by} ${id}`} id=${id} title=${title}><${Markup} markup=${markup} /></${Section}>`)}</main>
<footer class="footer"><${Markup} markup=${page.footer} /></footer>`
}`;
}
