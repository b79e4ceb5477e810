/** Receives server-sent events. Hidden pages make no requests. */
import { useEffect, useRef, useState } from 'preact/hooks';

/** @typedef {import('./words.js').Item} Item */
/** @typedef {import('../messages.js').Update & { readonly of: string }} Update */

/**
 * @typedef {{
 *   items?: (change: { whole: boolean, changed: Item[], removed: string[] }) => void,
 *   update?: (update: Update) => void,
 * }} Listener
 */

/**
 * `refused`: the view has ended, or another one now runs at this address.
 * @typedef {'live' | 'lost' | 'refused'} LinkState
 */

/** Stored for this origin, so pages on other ports can't read it, unlike a cookie. */
const tokenKey = 'policyloop view';

{
  const entered = new URL(location.href);
  const token = entered.searchParams.get('token');
  if (token !== null) {
    localStorage.setItem(tokenKey, token);
    entered.searchParams.delete('token');
    history.replaceState(null, '', entered);
  }
}

const token = () => localStorage.getItem(tokenKey) ?? '';

/** Milliseconds until a refused page tries again. */
const refusedPause = 3000;

/** @param {readonly string[]} names @param {boolean} all @param {Listener} listener @param {(state: LinkState) => void} onState */
function watch(names, all, listener, onState) {
  /** @type {EventSource | undefined} */
  let source;
  let timer = 0;
  const query = new URLSearchParams(names.map((name) => ['of', name]));
  if (all) query.set('all', '');
  const follow = () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
      return;
    }
    if (source !== undefined) return;
    // An EventSource can't send headers.
    query.set('token', token());
    source = new EventSource(`/api/events?${query}`);
    source.addEventListener('open', () => onState('live'));
    source.addEventListener('error', () => {
      if (source?.readyState !== EventSource.CLOSED) return onState('lost');
      onState('refused');
      source = undefined;
      timer = setTimeout(follow, refusedPause);
    });
    source.addEventListener('items', ({ data }) => listener.items?.(JSON.parse(data)));
    source.addEventListener('update', ({ data }) => listener.update?.(JSON.parse(data)));
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    clearTimeout(timer);
    source?.close();
  };
}

/**
 * Watches items while the component is mounted.
 * @param {readonly string[]} names @param {Listener} listener
 * @param {{ all?: boolean }} [options]
 */
export function useLive(names, listener, { all = false } = {}) {
  const [state, setState] = useState(/** @type {LinkState} */ ('live'));
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(
    () =>
      watch(
        names,
        all,
        {
          items: (change) => latest.current.items?.(change),
          update: (update) => latest.current.update?.(update),
        },
        setState,
      ),
    [names.join('\n'), all],
  );
  return state;
}

/** @template T @param {T[]} list @param {{ keep: number, added: readonly T[] }} growth */
export function grow(list, { keep, added }) {
  list.length = Math.min(list.length, keep);
  for (const item of added) list.push(item);
}

/**
 * @template T
 * @param {string} address
 * @returns {Promise<T>}
 * @throws Error with the server's message
 */
export const ask = async (address) => answered(await fetch(address, { headers: authorization() }));

/**
 * @template T
 * @param {string} address @param {object} body
 * @returns {Promise<T>}
 * @throws Error with the server's message
 */
export const post = async (address, body) =>
  answered(
    await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization() },
      body: JSON.stringify(body),
    }),
  );

const authorization = () => ({ authorization: `Bearer ${token()}` });

/** @template T @param {Response} response @returns {Promise<T>} */
async function answered(response) {
  const body = await response.json();
  if (response.ok) return body;
  throw new Error(body.error?.message ?? `the server replied with status ${response.status}`);
}
