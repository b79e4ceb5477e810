/** Compares runs, or groups of them; the server computes the page. */
import { useEffect, useState } from 'preact/hooks';
import { html } from '../base/html.js';
import { type LinkState, useLive } from '../base/live.js';
import { go } from '../base/words.js';
import { Markup, Section, SectionLinks } from '../markup/sections.js';
import { usePage } from './use-page.js';

interface Props {
  readonly query: URLSearchParams;
  readonly onState: (state: LinkState) => void;
}

export function ComparePage({ onState, query }: Props) {
  const { page, problem, refresh } = usePage(`/api/compare?${query}`);
  const state = useLive(
    [],
    {
      items: ({ whole }) => {
        if (!whole) void refresh();
      },
    },
    { all: true },
  );
  useEffect(() => onState(state), [state]);
  useEffect(() => {
    document.title = page?.title ?? 'Comparison';
  }, [page?.title]);
  const names = query.getAll('of');
  const [a, b] = names;
  return html`${page && html`<${Markup} markup=${page.header} />`}
<main>
<${CompareControls} query=${query} />
${names.length === 2 && a !== undefined && b !== undefined && html`<p><a href=${`/diff?${new URLSearchParams({ a, b })}`}>Compare the configs and the best iterations (prompts, replies, parameters)</a></p>`}
${problem !== '' && html`<p class="empty warn-text" role="alert">${problem}</p>`}
${page === undefined && problem === '' && html`<p class="empty">Loading …</p>`}
${page && html`<${SectionLinks} sections=${page.sections} />`}
${page?.sections.map(({ html: markup, id, title }) => html`<${Section} key=${id} id=${id} title=${title}><${Markup} markup=${markup} /><//>`)}
</main>
${page && html`<footer class="footer"><${Markup} markup=${page.footer} /></footer>`}`;
}

type InputEvent = { readonly currentTarget: HTMLInputElement };

/** Grouping and options, which are part of the address. */
function CompareControls({ query }: { readonly query: URLSearchParams }) {
  const by = query.get('by') ?? '';
  const [text, setText] = useState(by);
  useEffect(() => setText(by), [by]);
  const change = (key: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === '') next.delete(key);
    else next.set(key, value);
    // The groups of other keys have other ids.
    if (key === 'by') next.delete('group');
    go(`/compare?${next}`, true);
  };
  const box = (key: string, label: string) =>
    html`<label><input type="checkbox" checked=${query.has(key)} onChange=${({ currentTarget }: InputEvent) => change(key, currentTarget.checked ? '1' : '')} /> ${label}</label>`;
  return html`<form class="filter-form" aria-label="How to compare" onSubmit=${(event: Event) => event.preventDefault()}>
<label for="by">Group by</label>
<input id="by" type="text" size=${Math.max(24, text.length + 4)} value=${text} placeholder="run, config or keys" aria-describedby="by-help" autocomplete="off" spellcheck=${false} onInput=${({ currentTarget }: InputEvent) => setText(currentTarget.value)} onChange=${({ currentTarget }: InputEvent) => change('by', currentTarget.value.trim())} />
${box('normalise', 'Normalise returns')} ${box('unfinished', 'Include unfinished runs')}
<p class="note" id="by-help"><code>run</code>: each run alone; <code>config</code>: runs that differ only in their seed; or keys, such as <code>model.temperature</code> or <code>model, memory.best</code>.</p>
</form>`;
}
