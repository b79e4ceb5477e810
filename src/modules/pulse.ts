/** What users' code a thread is in, told to the thread that watches it by one number in shared memory. */

/** The calls that are watched. */
export const watchedCalls = [
  'none',
  'create',
  'reset',
  'step',
  'frame',
  'close',
  'build',
  'the policy',
  'initial',
  'the reward function',
] as const;

export type WatchedCall = (typeof watchedCalls)[number];

const { store } = Atomics;
const numbers = new Map(watchedCalls.map((name, i) => [name, i]));
let memory: Int32Array | undefined;
let calls = 0;

/** From here on, this thread writes there what it calls. */
export function tellPulse(shared: Int32Array): void {
  memory = shared;
}

/** Does work of a user's code, as which it is then known. */
export function watched<T>(name: WatchedCall, work: () => T): T {
  if (memory === undefined) return work();
  enter(numbers.get(name)!);
  try {
    return work();
  } finally {
    enter(0);
  }
}

/** The number counts, so that two calls of the same function differ. */
function enter(call: number): void {
  calls = (calls + watchedCalls.length) % (watchedCalls.length * 2 ** 26);
  store(memory!, 0, calls + call);
}

/** Calls `onStuck` once, where a call lasts longer than that. @returns what ends the watch */
export function watchPulse(
  shared: Int32Array,
  seconds: number,
  onStuck: (call: WatchedCall) => void,
): () => void {
  let last = -1;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = Atomics.load(shared, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    const call = watchedCalls[now % watchedCalls.length]!;
    if (call === 'none' || performance.now() - since < 1000 * seconds) return;
    clearInterval(timer);
    onStuck(call);
  }, 100);
  return () => clearInterval(timer);
}
