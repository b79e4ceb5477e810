import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './base/html.js';
import { enter, type LinkState, OnLinkState, useAnswer } from './base/live.js';
import { currentAddress, followLinks, go } from './base/words.js';
import { ComparePage } from './pages/compare.js';
import { IndexPage } from './pages/index-page.js';
import { ItemPage } from './pages/item-page.js';
import { SearchPage } from './pages/search-page.js';

const links: Readonly<Record<LinkState, string>> = {
  live: 'live',
  lost: 'disconnected, reconnecting',
  refused: 'rejected by the server: open the address that policyloop view printed',
};

const keys = [
  ['/', 'focus the filter or search field'],
  ['j, k', 'next, previous row'],
  ['x', 'select the row'],
  ['n, p', 'next, previous iteration'],
  ['g', 'all runs'],
  ['s', 'search'],
  ['?', 'show or hide shortcuts'],
];

const shortcuts: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
  '/': (event) => {
    event.preventDefault();
    document.querySelector<HTMLElement>('input[type="search"]')?.focus();
  },
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: ({ target }) => target instanceof Element && target.closest('tr')?.querySelector('input')?.click(),
  g: () => go('/'),
  s: () => go('/search'),
  '?': () => document.getElementById('shortcuts')?.click(),
};

function App() {
  const [{ name, page, query }, setAddress] = useState(currentAddress);
  const [state, setState] = useState<LinkState>('live');
  const [isHelp, setHelp] = useState(false);
  const place = useAnswer<{ readonly place: string }>('/api/place').answer?.place ?? '';
  useEffect(() => {
    addEventListener('popstate', () => setAddress(currentAddress()));
    document.addEventListener('keydown', onKey);
  }, []);
  return html`<${OnLinkState.Provider} value=${setState}>
<a class="repeated skip" href="#content">Skip to content</a>
<div class="bar" role="navigation" aria-label="policyloop"><a class="home" href="/">policyloop</a> <span class="muted place">${place}</span>
<a href="/search">Search</a> <button type="button" id="shortcuts" class="plain" aria-expanded=${isHelp} aria-controls="keys" onClick=${() => setHelp(!isHelp)}>Shortcuts</button>
<span class=${state === 'live' ? 'link-state' : 'link-state lost'} role="status">${links[state]}</span></div>
<dl id="keys" class="keys" hidden=${!isHelp}>${keys.map(([key, does]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
<div id="content" tabindex="-1">
${page === 'index' && html`<${IndexPage} query=${query} place=${place} />`}
${page === 'item' && html`<${ItemPage} name=${name} query=${query} />`}
${page === 'compare' && html`<${ComparePage} query=${query} />`}
${page === 'search' && html`<${SearchPage} query=${query} />`}
</div><//>`;
}

function onKey(event: KeyboardEvent) {
  const { target } = event;
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (target instanceof HTMLInputElement && target.type !== 'checkbox' && target.type !== 'radio') {
    if (event.key === 'Escape') target.blur();
  } else if (!(target instanceof HTMLTextAreaElement)) shortcuts[event.key]?.(event);
}

function moveRow(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>('.row-link')];
  const at = rows.findIndex(
    (link) => link === document.activeElement || link.closest('tr')?.contains(document.activeElement),
  );
  rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}

export function showView() {
  enter();
  followLinks();
  render(html`<${App} />`, document.body);
}
