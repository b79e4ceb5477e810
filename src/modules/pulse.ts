/** Reports through shared memory which user code a thread is running, so another thread can watch it. */
const calls = [
  'nothing',
  'the top level',
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

export type UserCall = (typeof calls)[number];

const { store } = Atomics;
const place = 2;
const numbers = new Map(calls.map((name, i) => [name, i]));
let memory: Int32Array | undefined;
let count = 0;

/** Makes this thread report its calls. */
export function tellPulse(shared: Int32Array): void {
  memory = shared;
}

/** The number counts calls, so that two calls of the same function differ. */
export function enter(name: UserCall): void {
  if (memory === undefined) return;
  count = (count + calls.length) % (calls.length * 2 ** 26);
  store(memory, place, count + numbers.get(name)!);
}

/** Runs a user's function under this name. */
export function watched<T>(name: UserCall, call: () => T): T {
  if (memory === undefined) return call();
  enter(name);
  try {
    return call();
  } finally {
    enter('nothing');
  }
}

/** Calls back if a call takes too long. @returns a function that stops watching */
export function watchPulse(
  shared: Int32Array,
  seconds: number,
  onStuck: (call: UserCall) => void,
): () => void {
  let [last, since] = [-1, 0];
  const timer = setInterval(() => {
    const now = Atomics.load(shared, place);
    if (now !== last) [last, since] = [now, performance.now()];
    const call = calls[now % calls.length]!;
    if (call !== 'nothing' && performance.now() - since >= 1000 * seconds) onStuck(call);
  }, 100);
  return () => clearInterval(timer);
}
