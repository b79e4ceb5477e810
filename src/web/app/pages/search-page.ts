import { useEffect } from 'preact/hooks';
import { itemAddress, queryOf } from '../../address.js';
import type { SearchResult } from '../../messages.js';
import { html, submitHandler } from '../base/html.js';
import { useResponse } from '../base/live.js';
import { visit } from '../base/words.js';

export function SearchPage({ query }: { readonly query: URLSearchParams }) {
  const [text, names] = [query.get('q') ?? '', query.getAll('of')];
  const { answer, problem } = useResponse<SearchResult>(text === '' ? undefined : `/api/search?${query}`);
  useEffect(() => {
    document.title = text === '' ? 'Search' : `${text}: search`;
  }, [text]);
  const submit = submitHandler((field) => visit(`/search${queryOf({ q: field('q'), of: names })}`));
  return html`<form class="filter-form" role="search" onSubmit=${submit}>
<label>Text <input name="q" type="search" value=${text} maxlength="200" placeholder="Search prompts and replies" autocomplete="off" /></label>
<button type="submit">Search</button>
<span class="muted">${names.length === 0 ? 'in all runs' : html`in ${names.join(', ')}; <a href=${`/search${queryOf({ q: text })}`}>in all runs</a>`}</span>
</form>
<main><section aria-labelledby="hits"><h1 id="hits" class="as-h2">${searchTitle(text, answer, problem)}</h1>
${problem && html`<p class="failure">${problem}</p>`}
${answer && answer.searched < answer.of && html`<p class="note">Only ${answer.searched} of ${answer.of} runs were searched completely. Search for a longer text, or in a single run.</p>`}
<ol class="hits">${answer?.hits.map(
    ({ after, attempt, before, candidate, iteration, match, of, where }) => html`<li>
<a href=${itemAddress(of, { iteration })}>${of}, iteration ${iteration}${candidate > 0 && `, candidate ${candidate + 1}`}</a> <span class="muted">${where}${attempt > 0 && `, correction ${attempt}`}</span>
<pre tabindex="0">${before}<mark>${match}</mark>${after}</pre></li>`,
  )}</ol>
</section></main>`;
}

function searchTitle(text: string, result: SearchResult | undefined, problem: string) {
  if (text === '') return 'Search prompts and replies';
  if (problem !== '') return 'Search failed';
  if (result === undefined) return 'Searching …';
  const { length } = result.hits;
  if (length === 0) return 'No matches';
  return length === 1 ? '1 match' : `${length}${length >= 200 ? ' or more' : ''} matches`;
}
