/** Ends the wait for work that ignores the signal, such as a step that hangs. What it comes to is left. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const raced = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    const options = { once: true, signal: raced.signal };
    signal.addEventListener('abort', () => reject(signal.reason as Error), options);
  });
  return Promise.race([work, aborted]).finally(() => raced.abort());
}
