/** Lets another thread see whether a program is running in this one, so that it can end this thread if one hangs. */

/** Number of starts and ends of calls; odd while a program runs. */
let count: Int32Array | undefined;

/** Makes this thread report its calls of programs. */
export function reportCalls(memory: Int32Array): void {
  count = memory;
}

/** True if another thread ends this one when a program hangs. */
export const isWatched = (): boolean => count !== undefined;

/** Runs a call of a program, and reports its start and end. */
export function reported<T>(call: () => T): T {
  if (count === undefined) return call();
  Atomics.add(count, 0, 1);
  try {
    return call();
  } finally {
    Atomics.add(count, 0, 1);
  }
}

/** Calls a function if a program runs for too long in the thread that reports here. @returns a function that stops watching */
export function watchCalls(memory: Int32Array, seconds: number, onStuck: () => void): () => void {
  let [last, since] = [-1, 0];
  const timer = setInterval(() => {
    const now = Atomics.load(memory, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    if (now % 2 !== 0 && performance.now() - since >= 1000 * seconds) onStuck();
  }, 100);
  return () => clearInterval(timer);
}
