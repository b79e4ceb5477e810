import process from 'node:process';
import { messageOf } from '../base/errors.js';
import { harmlessLine } from '../base/terminal-text.js';

let here = false;

/** Whether users' modules run in this thread. */
export const hostsModules = (): boolean => here;

/**
 * Prepares this thread to run users' modules. Their output and unhandled rejections go to standard error, because
 * standard output is for results.
 * @param onUncaught receives an uncaught error before the thread ends
 */
export function hostModules(onUncaught: (message: string) => void): void {
  here = true;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const noted = new Set<string>();
  process.on('unhandledRejection', (reason) => {
    const place = /file:\S+:\d+:\d+/.exec(stackOf(reason))?.[0];
    const note = `unhandled promise rejection in a module: ${readable(reason)}${place ? ` (${place})` : ''}\n`;
    if (noted.has(note) || noted.size === mostNotes) return;
    noted.add(note);
    process.stderr.write(note);
  });
  process.on('uncaughtException', (error) => {
    onUncaught(readable(error));
    process.exit(1);
  });
}

const mostNotes = 10;

const readable = (error: unknown): string => harmlessLine(messageOf(error));

/** The stack of any thrown value; empty if it can't be read. */
export function stackOf(error: unknown): string {
  try {
    return String((error as Partial<Error> | undefined)?.stack ?? '');
  } catch {
    return '';
  }
}

/** User code that a thread can run. Its index is reported in shared memory, so that another thread can watch it. */
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

/** Makes this thread report its calls of user code. */
export function startPulse(shared: Int32Array): void {
  memory = shared;
}

/** Reports the start of a call. The reported number also counts calls, so two calls of the same function differ. */
export function enter(name: UserCall): void {
  if (memory === undefined) return;
  count = (count + calls.length) % (calls.length * 2 ** 26);
  store(memory, place, count + numbers.get(name)!);
}

/** Runs a user's function and reports the call under this name. */
export function watched<T>(name: UserCall, call: () => T): T {
  if (memory === undefined) return call();
  enter(name);
  try {
    return call();
  } finally {
    enter('nothing');
  }
}

/** Calls a function when user code runs for too long. @returns a function that stops watching */
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
