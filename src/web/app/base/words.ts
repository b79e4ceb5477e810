import { formatReturn, missingMark } from '../../../base/text/numbers.js';
import type { Item } from '../../../runs/listing/item.js';

export const unitOf = ({ kind, unit = 'step' }: Item): string =>
  ({ run: 'iterations', play: 'games', training: `${unit}s` })[kind as string] ?? 'runs';

export const returnText = (value: number | null | undefined): string =>
  value === null || value === undefined ? missingMark : formatReturn(value);

export interface Route {
  readonly page: 'index' | 'item' | 'compare' | 'search';
  readonly name: string;
  readonly query: URLSearchParams;
}

/** Decodes a part of a URL; returns it unchanged if it is malformed, such as `100%`. */
export function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function currentRoute(): Route {
  const { pathname, search } = location;
  const query = new URLSearchParams(search);
  if (pathname.startsWith('/of/')) return { page: 'item', name: decodeUrlPart(pathname.slice(4)), query };
  return { page: (pathname.slice(1) || 'index') as Route['page'], name: '', query };
}

/** Shows a page of the view without reloading. @param replace true to replace the history entry */
export function visit(address: string, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
  if (!replace) scrollTo(0, 0);
}

/** Follows links between pages without reloading. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link?.href || link.target) return;
    const { hash, origin, pathname, search } = new URL(link.href);
    // For a link to a section of this page, the browser scrolls by itself.
    const isSamePage = hash !== '' && pathname === location.pathname && search === location.search;
    const isPage = /^\/(?:$|of\/|(?:compare|search)$)/.test(pathname);
    if (origin !== location.origin || isSamePage || !isPage) return;
    event.preventDefault();
    visit(`${pathname}${search}${hash}`);
  });
}
