/** Helpers shared by several pages. Numbers are formatted as in reports. */
import htm from 'htm';
import { formatNumber, formatReturn } from 'numbers';
import { h } from 'preact';

export const html = htm.bind(h);

/** @typedef {import('../messages.js').Item} Item */

/** @param {Item} item */
export const isHolder = ({ kind }) =>
  ['repeats', 'controls', 'collection', 'evaluation', 'sweep', 'models'].includes(kind);

/** @param {HTMLFormElement} form @param {string} name */
export const fieldOf = (form, name) => String(new FormData(form).get(name) ?? '');

/** @param {Item} item */
export const unitOf = (item) =>
  isHolder(item)
    ? 'runs'
    : { run: 'iterations', play: 'games', training: 'steps' }[/** @type {'run'} */ (item.kind)];

/** @param {number | null | undefined} value */
export const shownReturn = (value) => (value === null || value === undefined ? '–' : formatReturn(value));

/** @param {number | null | undefined} value */
export const shownNumber = (value) => (value === null || value === undefined ? '–' : formatNumber(value));

/** `2026-01-31 12:30`, in UTC. @param {string | null} iso */
export const shownTime = (iso) => (iso === null ? '–' : iso.slice(0, 16).replace('T', ' '));

/** @param {string} status */
export const statusMark = (status) => html`<span class=${`status ${status}`}>${status}</span>`;

/** Addresses of the view's pages, and navigation without reloading. */

/** @param {string} name @param {Record<string, string | number>} [query] */
export function itemAddress(name, query = {}) {
  return `/of/${name.split('/').map(encodeURIComponent).join('/')}${queryOf(query)}`;
}

/** @param {Record<string, string | number>} query */
export function queryOf(query) {
  const text = new URLSearchParams(
    Object.entries(query).map(([key, value]) => [key, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

/** @param {readonly string[]} names */
export const compareAddress = (names) =>
  `/compare?${new URLSearchParams(names.map((name) => ['of', name])).toString()}`;

/**
 * @typedef {{
 *   readonly page: 'index' | 'item' | 'compare' | 'diff' | 'search',
 *   readonly name: string,
 *   readonly query: URLSearchParams,
 * }} Address
 */

/** @returns {Address} */
export function currentAddress() {
  const { pathname, search } = location;
  const query = new URLSearchParams(search);
  if (pathname.startsWith('/of/'))
    return { page: 'item', name: decodeURIComponent(pathname.slice(4)), query };
  const page = /** @type {Address['page']} */ (pathname.slice(1) || 'index');
  return { page, name: '', query };
}

/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {() => void} listener */
export function onAddress(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {string} address @param {boolean} [replace] replaces the history entry */
export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  for (const listener of listeners) listener();
  if (!replace) scrollTo(0, 0);
}

/** Follows links between pages without reloading. */
export function followLinks() {
  addEventListener('popstate', () => {
    for (const listener of listeners) listener();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link?.href || link.target) return;
    const { hash, origin, pathname, search } = new URL(link.href);
    // The browser scrolls to sections of the same page itself.
    const isHere = hash !== '' && pathname === location.pathname && search === location.search;
    if (origin !== location.origin || isHere || !/^\/(?:$|of\/|compare$|diff$|search$)/.test(pathname))
      return;
    event.preventDefault();
    go(`${pathname}${search}`);
  });
}
