/** The page of model calls over time: tokens, cost, latency and failures. */
import { useState } from 'preact/hooks';
import { html, type InputEvent } from '../base/html.js';
import { go, queryOf } from '../base/words.js';
import { ShownPage, usePage } from './use-page.js';

const spans = { day: '24 hours', week: '7 days', month: '30 days', all: 'All time' };

export function CallsPage({ query }: { readonly query: URLSearchParams }) {
  const span = query.get('span') ?? 'week';
  const by = query.get('by') ?? 'model';
  const filter = query.get('filter') ?? '';
  // The period ends at the time when the page was opened, even after the user has changed an option.
  const [until] = useState(() => Date.now());
  const { page, problem } = usePage(`/api/calls${queryOf({ span, by, until, filter })}`);
  const change = (changed: object) => go(`/calls${queryOf({ span, by, filter, ...changed })}`, true);
  const choice = (key: string, chosen: string, value: string, label: string) =>
    html`<label><input type="radio" name=${key} value=${value} checked=${value === chosen} onChange=${() => change({ [key]: value })} /> ${label}</label>`;
  return html`<form class="filter-form" aria-label="Period, grouping and filter" onSubmit=${(event: Event) => event.preventDefault()}>
<fieldset class="filter"><legend>Period</legend>${Object.entries(spans).map(([value, label]) => choice('span', span, value, label))}</fieldset>
<fieldset class="filter"><legend>Charts by</legend>${['model', 'purpose'].map((value) => choice('by', by, value, value))}</fieldset>
<label>Runs <input id="filter" type="search" value=${filter} placeholder="e.g. model=openai* started=2026-11.. (default: all)" autocomplete="off" spellcheck=${false} onChange=${({ currentTarget }: InputEvent) => change({ filter: currentTarget.value })} /></label>
</form>
<${ShownPage} page=${page} problem=${problem} loading="Adding up all calls …" />`;
}
