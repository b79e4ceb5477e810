import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './base/html.js';
import { type ConnectionState, logIn, OnConnectionState, useResponse } from './base/live.js';
import { currentRoute, followLinks } from './base/words.js';
import { ComparePage } from './pages/compare.js';
import { IndexPage } from './pages/index-page.js';
import { ItemPage } from './pages/item-page.js';
import { SearchPage } from './pages/search-page.js';

const connectionTexts: Readonly<Record<ConnectionState, string>> = {
  live: 'live',
  lost: 'disconnected, reconnecting',
  refused: 'rejected by the server: open the address that policyloop view printed',
};

function App() {
  const [{ name, page, query }, setRoute] = useState(currentRoute);
  const [state, setState] = useState<ConnectionState>('live');
  const place = useResponse<{ readonly place: string }>('/api/place').answer?.place ?? '';
  useEffect(() => {
    addEventListener('popstate', () => setRoute(currentRoute()));
    document.addEventListener('keydown', onKey);
  }, []);
  return html`<${OnConnectionState.Provider} value=${setState}>
<a class="repeated skip" href="#content">Skip to content</a>
<div class="bar" role="navigation" aria-label="policyloop"><a class="home" href="/">policyloop</a> <span class="muted place">${place}</span>
<a href="/search">Search</a>
<span class=${state === 'live' ? 'link-state' : 'link-state lost'} role="status">${connectionTexts[state]}</span></div>
<div id="content" tabindex="-1">
${page === 'index' && (state === 'refused' && place === '' ? html`<main><p class="failure" role="alert">${connectionTexts.refused}; it ends with a token</p></main>` : html`<${IndexPage} query=${query} place=${place} />`)}
${page === 'item' && html`<${ItemPage} name=${name} query=${query} />`}
${page === 'compare' && html`<${ComparePage} query=${query} />`}
${page === 'search' && html`<${SearchPage} query=${query} />`}
</div><//>`;
}

/** Focuses the filter or the search field when `/` is pressed. */
function onKey(event: KeyboardEvent) {
  const { key, target } = event;
  if (key !== '/' || target instanceof HTMLInputElement || event.altKey || event.ctrlKey || event.metaKey)
    return;
  event.preventDefault();
  document.querySelector<HTMLElement>('input[type="search"]')?.focus();
}

export function showView() {
  logIn();
  followLinks();
  render(html`<${App} />`, document.body);
}
