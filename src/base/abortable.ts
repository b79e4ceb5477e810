import { setMaxListeners } from 'node:events';

/**
 * Calls `act` once as the signal is aborted: at once where it is already. Any number of calls under way may wait for one
 * signal, which Node.js would take for a leak.
 * @returns what ends the wait
 */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  setMaxListeners(0, signal);
  const listener = () => act();
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Ends the wait for work that ignores the signal, such as a step that hangs. What it comes to is left. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let endWait = () => {};
  const aborted = new Promise<never>((_, reject) => {
    endWait = onAbort(signal, () => reject(signal.reason as Error));
  });
  return Promise.race([work, aborted]).finally(endWait);
}
