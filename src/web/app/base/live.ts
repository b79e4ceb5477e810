/** Receives server-sent events. Hidden pages make no requests. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Growth, Item, Update } from '../../messages.js';

interface Change {
  readonly whole: boolean;
  readonly changed: readonly Item[];
  readonly removed: readonly string[];
}

interface Listener {
  readonly items?: (change: Change) => void;
  readonly update?: (update: Update & { readonly of: string }) => void;
}

/** `refused`: the view has ended, or another one now runs at this address. */
export type LinkState = 'live' | 'lost' | 'refused';

/** Stored for this origin, so pages on other ports can't read it, unlike a cookie. */
const tokenKey = 'policyloop view';

/** Keeps the token of the address that `policyloop view` printed, and removes it from the address. */
export function enter(): void {
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

interface Watched {
  readonly names: readonly string[];
  /** All items, not just those with these names. */
  readonly all: boolean;
  /** Config keys whose values the items bring along. */
  readonly keys: readonly string[];
}

function watch(
  { all, keys, names }: Watched,
  listener: Listener,
  onState: (state: LinkState) => void,
): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout>;
  const query = new URLSearchParams(names.map((name) => ['of', name]));
  for (const key of keys) query.append('key', key);
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

/** Watches items while the component is mounted. */
export function useLive(
  names: readonly string[],
  listener: Listener,
  { all = false, keys = [] }: Partial<Watched> = {},
): LinkState {
  const [state, setState] = useState<LinkState>('live');
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(
    () =>
      watch(
        { names, all, keys },
        {
          items: (change) => latest.current.items?.(change),
          update: (update) => latest.current.update?.(update),
        },
        setState,
      ),
    [names.join('\n'), keys.join('\n'), all],
  );
  return state;
}

export function grow<T>(list: T[], { keep, added }: Growth<T>): void {
  list.length = Math.min(list.length, keep);
  for (const item of added) list.push(item);
}

/** @throws Error with the server's message */
export const ask = async <T>(address: string): Promise<T> =>
  answered<T>(await fetch(address, { headers: authorization() }));

/** @throws Error with the server's message */
export const post = async <T>(address: string, body: object): Promise<T> =>
  answered<T>(
    await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization() },
      body: JSON.stringify(body),
    }),
  );

const authorization = () => ({ authorization: `Bearer ${token()}` });

async function answered<T>(response: Response): Promise<T> {
  const body = (await response.json()) as T & { readonly error?: { readonly message?: string } };
  if (response.ok) return body;
  throw new Error(body.error?.message ?? `the server replied with status ${response.status}`);
}
