import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './base/html.js';
import { ask, enter } from './base/live.js';
import { currentAddress, followLinks, go, onAddress } from './base/words.js';
import { CallsPage } from './pages/calls-page.js';
import { ComparePage } from './pages/compare.js';
import { IndexPage } from './pages/index-page.js';
import { DifferencePage, ItemPage } from './pages/item-page.js';
import { SearchPage } from './pages/search-page.js';

const links = {
  live: 'live',
  lost: 'disconnected, reconnecting',
  refused: 'not authorized: open the address that policyloop view printed',
};

const keys = [
  ['/', 'focus the filter or search field'],
  ['j, k', 'next, previous row'],
  ['x', 'select the row'],
  ['n, p', 'next, previous iteration'],
  ['g', 'all runs'],
  ['s', 'search'],
  ['?', 'show shortcuts'],
];

function App() {
  const [address, setAddress] = useState(currentAddress);
  const [state, setState] = useState<keyof typeof links>('live');
  const [isHelp, setHelp] = useState(false);
  const [place, setPlace] = useState('');
  useEffect(() => {
    ask<{ place: string }>('/api/place').then(
      (answer) => setPlace(answer.place),
      () => undefined,
    );
  }, []);
  useEffect(() => {
    const stop = onAddress(() => setAddress(currentAddress()));
    return () => {
      stop();
    };
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => onShortcut(event, () => setHelp((shown) => !shown));
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const { name, page, query } = address;
  return html`<a class="repeated skip" href="#content">Skip to content</a>
<div class="bar" role="navigation" aria-label="policyloop"><a class="home" href="/">policyloop</a> <span class="muted place">${place}</span>
<a href="/calls">Calls</a> <a href="/search">Search</a> <button type="button" class="plain" aria-expanded=${isHelp} aria-controls="keys" onClick=${() => setHelp(!isHelp)}>Shortcuts</button>
<span class=${state === 'live' ? 'link-state' : 'link-state lost'} role="status">${links[state]}</span></div>
<dl id="keys" class="keys" hidden=${!isHelp}>${keys.map(([key, does]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
<div id="content" tabindex="-1">
${page === 'index' && html`<${IndexPage} query=${query} place=${place} onState=${setState} />`}
${page === 'item' && html`<${ItemPage} name=${name} query=${query} onState=${setState} />`}
${page === 'calls' && html`<${CallsPage} query=${query} />`}
${page === 'compare' && html`<${ComparePage} query=${query} onState=${setState} />`}
${page === 'diff' && html`<${DifferencePage} key=${String(query)} query=${query} />`}
${page === 'search' && html`<${SearchPage} query=${query} />`}
</div>`;
}

function onShortcut(event: KeyboardEvent, toggleHelp: () => void) {
  const { target } = event;
  const isTyping =
    target instanceof HTMLInputElement && target.type !== 'checkbox' && target.type !== 'radio';
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (isTyping) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  switch (event.key) {
    case '/':
      event.preventDefault();
      (document.querySelector('input[type="search"]') as HTMLElement | null)?.focus();
      break;
    case 'j':
    case 'k':
      moveRow(event.key === 'j' ? 1 : -1);
      break;
    case 'x':
      if (target instanceof Element) target.closest('tr')?.querySelector('input')?.click();
      break;
    case 'g':
      go('/');
      break;
    case 's':
      go('/search');
      break;
    case '?':
      toggleHelp();
      break;
  }
}

function moveRow(by: number) {
  const links = [...document.querySelectorAll('.row-link')];
  const at = links.findIndex(
    (link) => link === document.activeElement || link.closest('tr')?.contains(document.activeElement),
  );
  const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
  if (next instanceof HTMLElement) next.focus();
}

/** Shows the live view: pages of a server that runs on this machine. */
export function showView() {
  enter();
  followLinks();
  render(html`<${App} />`, document.body);
}
