/** Helpers shared by several pages. Numbers are formatted as in reports. */
import { formatReturn } from '../../../format/numbers.js';
import type { Item } from '../../messages.js';
import { html } from './html.js';

export const isHolder = ({ kind }: Pick<Item, 'kind'>): boolean =>
  ['repeats', 'controls', 'collection', 'evaluation', 'sweep', 'models'].includes(kind);

export const fieldOf = (form: HTMLFormElement, name: string): string =>
  String(new FormData(form).get(name) ?? '');

export const unitOf = (item: Item): string =>
  isHolder(item)
    ? 'runs'
    : { run: 'iterations', play: 'games', training: `${item.unit ?? 'step'}s` }[
        item.kind as 'run' | 'play' | 'training'
      ];

export const shownReturn = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : formatReturn(value);

/** `2026-01-31 12:30`, in UTC. */
export const shownTime = (iso: string | null): string =>
  iso === null ? '–' : iso.slice(0, 16).replace('T', ' ');

export const statusMark = (status: string) => html`<span class=${`status ${status}`}>${status}</span>`;

/** Addresses of the view's pages, and navigation without reloading. */

type Query = Readonly<Record<string, string | number>>;

export function itemAddress(name: string, query: Query = {}): string {
  return `/of/${name.split('/').map(encodeURIComponent).join('/')}${queryOf(query)}`;
}

export function queryOf(query: Query): string {
  const text = new URLSearchParams(
    Object.entries(query).map(([key, value]) => [key, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

export const compareAddress = (names: readonly string[]): string =>
  `/compare?${new URLSearchParams(names.map((name) => ['of', name])).toString()}`;

export interface Address {
  readonly page: 'index' | 'item' | 'calls' | 'compare' | 'diff' | 'search';
  readonly name: string;
  readonly query: URLSearchParams;
}

export function currentAddress(): Address {
  const { pathname, search } = location;
  const query = new URLSearchParams(search);
  if (pathname.startsWith('/of/'))
    return { page: 'item', name: decodeURIComponent(pathname.slice(4)), query };
  const page = (pathname.slice(1) || 'index') as Address['page'];
  return { page, name: '', query };
}

const listeners = new Set<() => void>();

export function onAddress(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** @param replace replaces the history entry */
export function go(address: string, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  for (const listener of listeners) listener();
  if (!replace) scrollTo(0, 0);
}

/** Follows links between pages without reloading. */
export function followLinks(): void {
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
    if (
      origin !== location.origin ||
      isHere ||
      !/^\/(?:$|of\/|(?:calls|compare|diff|search)$)/.test(pathname)
    )
      return;
    event.preventDefault();
    go(`${pathname}${search}${hash}`);
  });
}
