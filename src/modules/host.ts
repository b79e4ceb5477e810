/** The thread that runs users' modules; `module-thread.ts` controls it. */
import { extname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { messageOf, UserError } from '../base/errors.js';
import { continueAt, createGenerator, type RandomGenerator, stateOf } from '../random/generator.js';
import {
  type FromHost,
  type HostSetting,
  type ModuleKind,
  plainCopy,
  type Request,
  type SentError,
  type SentValue,
  type ToHost,
} from './host-messages.js';
import { hostModules, stackOf, startPulse } from './pulse.js';
import { importModule, membersOf, type UserModule } from './user-module.js';

/** A function, the generator it last received, and the generator's state as the main thread knows it. */
interface Held {
  readonly call: (...given: readonly unknown[]) => unknown;
  random?: RandomGenerator;
  known?: readonly number[];
}

// A module may replace built-ins, so keep the originals.
const { add, notify, store } = Atomics;
const { apply } = Reflect;
const { keys } = Object;

const { port, shared } = await new Promise<HostSetting>((resolve) => parentPort!.once('message', resolve));
const modules: { readonly kind: ModuleKind; readonly module: UserModule }[] = [];
const held = new Map<number, Held>();
const aborts = new Map<number, AbortController>();
let functions = 0;

function say(message?: FromHost): void {
  if (message !== undefined) port.postMessage(message);
  add(shared, 0, 1);
  notify(shared, 0);
}

hostModules((message) => say({ kind: 'uncaught', message }));
startPulse(shared);
process.once('exit', () => {
  store(shared, 1, 1);
  say();
});

port.on('message', (message: ToHost) => {
  if (message.kind === 'abort') aborts.get(message.id)?.abort();
  else if (message.kind === 'release') held.delete(message.target);
  else void answer(message.id, message.request);
});

/** Replies to a request, even if the request throws or its result can't be sent. */
async function answer(id: number, request: Request): Promise<void> {
  try {
    say({ kind: 'answer', id, ...(await answerTo(id, request)) });
  } catch (error) {
    say({ kind: 'thrown', id, error: sentError(error) });
  } finally {
    aborts.delete(id);
  }
}

async function answerTo(
  id: number,
  request: Request,
): Promise<Pick<FromHost & { kind: 'answer' }, 'value' | 'random'>> {
  switch (request.kind) {
    case 'load': {
      const { as, field, path } = request;
      const module = await importModule(typeof path === 'string' ? path : ownFile(path.own), as, field);
      modules[modules.length] = { kind: as, module };
      return { value: { data: { file: module.file, name: module.name, target: modules.length - 1 } } };
    }
    case 'create':
      return {
        value: await made(modules[request.target]!, request.given as Parameters<UserModule['create']>),
      };
    case 'call':
      return call(id, request);
  }
}

const ownFile = (path: string): string =>
  fileURLToPath(new URL(`../${path}${extname(import.meta.url)}`, import.meta.url));

async function made(
  { kind, module }: { readonly kind: ModuleKind; readonly module: UserModule },
  given: Parameters<UserModule['create']>,
): Promise<SentValue> {
  const object = await module.create(...given);
  if (typeof object !== 'object' || object === null) return sentValue(object);
  const members: Record<string, SentValue> = {};
  for (const name of membersOf[kind] ?? keys(object)) {
    try {
      const value = (object as Record<string, unknown>)[name];
      if (value !== undefined) members[name] = sentValue(value, object);
    } catch (error) {
      const message = `can't read ${name} of the object that create returned: ${messageOf(error)}`;
      throw new UserError({ file: module.file, message });
    }
  }
  return { members };
}

async function call(id: number, { given, later, random: state, target }: Request & { kind: 'call' }) {
  const function_ = held.get(target)!;
  if (state === undefined) {
    const parts = later ? given.map((part) => withSignal(id, part)) : given;
    const result = function_.call(...parts);
    if (later) return { value: { data: plainCopy(await result) } };
    return { value: isPromise(result) ? ({ promise: true } as const) : sentValue(result) };
  }
  // If the main thread has drawn nothing since the last call, the generator already has the right state.
  const { known, random = createGenerator(0) } = function_;
  if (!known?.every((word, i) => word === state[i])) continueAt(random, state);
  const value = sentValue(function_.call(...given, random));
  held.set(target, { ...function_, random, known: stateOf(random)! });
  return { value, random: stateOf(random)! };
}

/** Adds a signal and `onText` to a call's options, because the caller's own can't be sent between threads. */
function withSignal(id: number, part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('seeds' in part)) return part;
  const abort = new AbortController();
  aborts.set(id, abort);
  const onText = (...given: readonly unknown[]) =>
    say({ kind: 'text', id, given: plainCopy(given) as unknown[] });
  return { ...part, signal: abort.signal, onText };
}

/** Whether a value is a promise. If so, a later rejection is ignored. */
function isPromise(value: unknown): boolean {
  if (!(value instanceof Promise)) return false;
  value.catch(() => undefined);
  return true;
}

/** @param owner object that has the function as a method */
function sentValue(value: unknown, owner?: object): SentValue {
  if (typeof value !== 'function') return { data: plainCopy(value) };
  held.set(++functions, { call: (...given) => apply(value, owner, given) });
  return { function: functions };
}

function sentError(error: unknown): SentError {
  if (error instanceof UserError) return { problems: plainCopy(error.problems) as [] };
  const sent = { message: messageOf(error), stack: stackOf(error) };
  try {
    const isObject = typeof error === 'object' && error !== null;
    const name = isObject ? { name: String((error as Partial<Error>).name ?? 'Error') } : {};
    return { ...sent, detail: { ...(isObject && (plainCopy(error) as object)), ...name } };
  } catch {
    return { ...sent, detail: {} };
  }
}
