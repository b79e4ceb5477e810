/** Addresses of the view's pages, and going from one to another without loading anew. */

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

/** @param {() => void} listener told of each change of the address */
export function onAddress(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {string} address @param {boolean} [replace] whether the last one is not to be gone back to */
export function go(address, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  for (const listener of listeners) listener();
  if (!replace) scrollTo(0, 0);
}

/** Makes links between pages of the view change the address alone. */
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
    // A part of the page that is shown is the browser's to find.
    const isHere = hash !== '' && pathname === location.pathname && search === location.search;
    if (origin !== location.origin || isHere || !/^\/(?:$|of\/|compare$|diff$|search$)/.test(pathname))
      return;
    event.preventDefault();
    go(`${pathname}${search}`);
  });
}
