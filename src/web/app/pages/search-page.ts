import { useEffect, useState } from 'preact/hooks';
import type { Found } from '../../messages.js';
import { html } from '../base/html.js';
import { ask } from '../base/live.js';
import { fieldOf, go, itemAddress } from '../base/words.js';

export function SearchPage({ query }: { query: URLSearchParams }) {
  const [text, names] = [query.get('q') ?? '', query.getAll('of')];
  const [found, setFound] = useState<Found | undefined>(undefined);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    document.title = text === '' ? 'Search' : `${text}: search`;
    setFound(undefined);
    setProblem('');
    if (text === '') return undefined;
    let isCurrent = true;
    ask<Found>(`/api/search?${query}`).then(
      (answer) => isCurrent && setFound(answer),
      (error) => isCurrent && setProblem(error.message),
    );
    return () => {
      isCurrent = false;
    };
  }, [String(query)]);
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    go(
      `/search?${new URLSearchParams([['q', fieldOf(event.currentTarget, 'q')], ...names.map((name) => ['of', name])])}`,
    );
  };
  return html`<form class="filter-form" role="search" onSubmit=${submit}>
<label for="text">Text</label>
<input id="text" name="q" type="search" value=${text} maxlength="200" placeholder="Search prompts and replies" autocomplete="off" />
<button type="submit">Search</button>
<span class="muted">${names.length === 0 ? 'in all runs' : html`in ${names.join(', ')}; <a href=${`/search?${new URLSearchParams({ q: text })}`}>in all runs</a>`}</span>
</form>
<main><section aria-labelledby="hits"><h1 id="hits" class="as-h2">${title(text, found, problem)}</h1>
${problem && html`<p class="failure">${problem}</p>`}
${found && found.searched < found.of && html`<p class="note">Only ${found.searched} of ${found.of} runs were searched completely. Use a longer search text, or search a single run.</p>`}
<ol class="hits">${found?.hits.map(
    (hit) => html`<li>
<a href=${itemAddress(hit.of, { iteration: hit.iteration })}>${hit.of}, iteration ${hit.iteration}${hit.candidate > 0 && `.${hit.candidate + 1}`}</a> <span class="muted">${hit.where}${hit.attempt > 0 && ` of correction ${hit.attempt}`}</span>
<pre tabindex="0">${hit.before}<mark>${hit.match}</mark>${hit.after}</pre></li>`,
  )}</ol>
</section></main>`;
}

function title(text: string, found: Found | undefined, problem: string) {
  if (text === '') return 'Search prompts and replies';
  if (problem !== '') return 'Search failed';
  if (found === undefined) return 'Searching …';
  return found.hits.length === 0
    ? 'No matches'
    : `${found.hits.length}${found.hits.length >= 200 ? ' or more' : ''} matches`;
}
