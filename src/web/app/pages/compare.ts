/** Compares runs, or groups of them; the server computes the page. */
import { html, type InputElementEvent } from '../base/html.js';
import { useLive } from '../base/live.js';
import { visit } from '../base/words.js';
import { KeysField } from '../table/keys-field.js';
import { PageView, usePage } from './shown-page.js';

export function ComparePage({ query }: { readonly query: URLSearchParams }) {
  const { page, problem, refresh } = usePage(`/api/compare?${query}`);
  useLive('?all', { onItems: ({ whole }) => whole || refresh() });
  /** Changes an option; options are part of the URL. */
  const change = (key: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value === '') next.delete(key);
    else next.set(key, value);
    // Group ids depend on the keys.
    if (key === 'by') next.delete('group');
    visit(`/compare?${next}`, true);
  };
  const checkbox = (key: string, label: string) =>
    html`<label><input type="checkbox" checked=${query.has(key)} onChange=${({ currentTarget }: InputElementEvent) => change(key, currentTarget.checked ? '1' : '')} /> ${label}</label>`;
  return html`<${PageView} page=${page} problem=${problem} loading="Loading …">
<form class="filter-form" aria-label="Comparison options" onSubmit=${(event: Event) => event.preventDefault()}>
<${KeysField} id="by" by=${query.get('by') ?? ''} placeholder="run, config, or config keys" help="by-help" apply=${(by: string) => change('by', by)} />
${checkbox('unfinished', 'Include unfinished runs')}
<p class="note" id="by-help"><code>run</code>: each run separately; <code>config</code>: runs that differ only in their seed; or config keys, such as <code>model.temperature</code> or <code>model, candidates</code>.</p>
</form>
<//>`;
}
