import { setMaxListeners } from 'node:events';

/**
 * Calls `callback` when the signal aborts, or immediately if it already has. A signal can have any number of listeners.
 * @returns a function that removes the listener
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) {
    callback();
    return () => undefined;
  }
  setMaxListeners(0, signal);
  const listener = () => callback();
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/** Waits for work, but only until the signal aborts, even if the work ignores it. @throws the signal's reason */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => reject(signal.reason as Error));
  });
  return Promise.race([work, aborted]).finally(stopListening);
}
