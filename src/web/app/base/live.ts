/** Communication with the server. Hidden pages receive no events. */
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Item } from '../../../runs/listing/item.js';

interface Listener {
  readonly onItems: (change: {
    readonly whole: boolean;
    readonly changed: readonly Item[];
    readonly removed: readonly string[];
  }) => void;
  /** Called when files of the watched item have changed, or may have changed while there was no connection. */
  readonly onStale?: () => void;
}

/** `refused`: the server rejects the connection, for example because another view now runs at this address. */
export type ConnectionState = 'live' | 'lost' | 'refused';

export const OnConnectionState = createContext<(state: ConnectionState) => void>(() => undefined);

/** Key in local storage, which pages on other ports can't read, unlike cookies. */
const tokenKey = 'policyloop view';

/** If the URL contains the token, stores it in local storage and removes it from the address bar. */
export function logIn(): void {
  const url = new URL(location.href);
  const token = url.searchParams.get('token');
  if (token !== null) {
    localStorage.setItem(tokenKey, token);
    url.searchParams.delete('token');
    history.replaceState(null, '', url);
  }
}

const getToken = () => localStorage.getItem(tokenKey) ?? '';

/** Milliseconds until a refused connection is retried. */
const refusedPauseMs = 3000;

/**
 * Receives server-sent events while the component is mounted.
 * @param query what to watch: `of` (name of an item) or `all`, and `key` (config keys whose values to include)
 */
export function useLive(query: string, listener: Listener): void {
  const onState = useContext(OnConnectionState);
  const latestListener = useRef(listener);
  latestListener.current = listener;
  useEffect(() => {
    let source: EventSource | undefined;
    let wasOpen = false;
    let timer: ReturnType<typeof setTimeout>;
    const openOrClose = () => {
      if (document.hidden) {
        source?.close();
        source = undefined;
        return;
      }
      if (source !== undefined) return;
      // An EventSource can't send headers, so the token is part of the URL.
      source = new EventSource(`/api/events${query}&token=${encodeURIComponent(getToken())}`);
      source.addEventListener('open', () => {
        onState('live');
        if (wasOpen) latestListener.current.onStale?.();
        wasOpen = true;
      });
      source.addEventListener('error', () => {
        if (source?.readyState !== EventSource.CLOSED) return onState('lost');
        onState('refused');
        source = undefined;
        timer = setTimeout(openOrClose, refusedPauseMs);
      });
      source.addEventListener('items', ({ data }) => latestListener.current.onItems(JSON.parse(data)));
      source.addEventListener('stale', () => latestListener.current.onStale?.());
    };
    onState('live');
    openOrClose();
    document.addEventListener('visibilitychange', openOrClose);
    return () => {
      document.removeEventListener('visibilitychange', openOrClose);
      clearTimeout(timer);
      source?.close();
    };
  }, [query]);
}

/** @throws Error if the request fails, with the server's message if it sent one */
export async function request(address: string, body?: object): Promise<Response> {
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${getToken()}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (response.ok) return response;
  const { error } = (await response.json()) as { readonly error?: { readonly message?: string } };
  throw new Error(error?.message ?? `the server replied with status ${response.status}`);
}

/** Minimum pause between requests, in milliseconds. After slow requests, the pause is longer. */
const minPause = 1500;

/**
 * Requests data from the server, and again when an argument changes or `refresh` is called.
 * @param address if undefined, nothing is requested yet
 * @param basis if given, the last answer stays visible until the next one arrives, even if the address changes
 */
export function useResponse<T>(address: string | undefined, basis?: string) {
  const [answer, setAnswer] = useState<T | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const state = useRef({ address, isAsking: false, isStale: false });
  const refresh = async () => {
    const asking = state.current;
    asking.isStale = true;
    if (asking.isAsking) return;
    asking.isAsking = true;
    while (asking.isStale && asking.address !== undefined) {
      asking.isStale = false;
      const askedAddress = asking.address;
      const isCurrent = () => state.current === asking && asking.address === askedAddress;
      const began = performance.now();
      await request(askedAddress).then(
        async (response) => {
          const data = (await response.json()) as T;
          if (!isCurrent()) return;
          setAnswer(() => data);
          setProblem('');
        },
        (error: Error) => isCurrent() && setProblem(error.message),
      );
      const pause = Math.max(minPause, 4 * (performance.now() - began));
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (state.current !== asking) return;
    }
    asking.isAsking = false;
  };
  useEffect(() => {
    if (basis === undefined) {
      state.current = { address, isAsking: false, isStale: false };
      setAnswer(undefined);
      setProblem('');
    } else state.current.address = address;
    void refresh();
  }, [address, basis]);
  return { answer, problem, refresh: () => void refresh() };
}

/** Sends POST requests. `reply` is the server's reply to the last one, or the error message. */
export function usePost() {
  const [reply, setReply] = useState('');
  const [isSending, setSending] = useState(false);
  /** @returns true if the request succeeded */
  const send = async (address: string, body: object): Promise<boolean> => {
    setSending(true);
    setReply('sending …');
    const [text, isDone] = await request(address, body).then(
      async (response) => [((await response.json()) as { text: string }).text, true] as const,
      (error: Error) => [error.message, false] as const,
    );
    setReply(text);
    setSending(false);
    return isDone;
  };
  return { reply, isSending, send };
}
