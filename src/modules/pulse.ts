/** What of users' code a thread is in, told to the thread that watches it by a number in shared memory. */
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

/** From here on, this thread writes there what it calls. */
export function tellPulse(shared: Int32Array): void {
  memory = shared;
}

/** The number counts, so that two calls of the same function differ. */
export function enter(name: UserCall): void {
  if (memory === undefined) return;
  count = (count + calls.length) % (calls.length * 2 ** 26);
  store(memory, place, count + numbers.get(name)!);
}

/** Calls a user's function, as which it is then known. */
export function watched<T>(name: UserCall, call: () => T): T {
  if (memory === undefined) return call();
  enter(name);
  try {
    return call();
  } finally {
    enter('nothing');
  }
}

/** Tells of a call that lasts longer than that. @returns what ends the watch */
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
