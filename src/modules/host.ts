/** The thread that users' modules run in; `module-thread.ts` is its other side. */
import { extname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import { messageOf, UserError } from '../base/errors.js';
import { continueAt, createGenerator, type RandomGenerator, stateOf } from '../random/generator.js';
import type {
  FromHost,
  HostSetting,
  ModuleKind,
  Request,
  SentError,
  SentValue,
  ToHost,
} from './host-messages.js';
import { hostModules, stackOf } from './hosting.js';
import { plainCopy } from './plain.js';
import { importModule, membersOf, type UserModule } from './user-module.js';

type Callable = (...given: readonly unknown[]) => unknown;

const { port, sent } = await new Promise<HostSetting>((resolve) => parentPort!.once('message', resolve));
const { add, notify, store } = Atomics;
const { apply } = Reflect;
const { keys } = Object;
const modules: { readonly kind: ModuleKind; readonly module: UserModule }[] = [];
const held = new Map<number, Callable | RandomGenerator>();
const aborts = new Map<number, AbortController>();
/** Numbers of functions are even, those of generators, which the other side counts, are odd. */
let functions = 0;

function say(message: FromHost): void {
  port.postMessage(message);
  add(sent, 0, 1);
  notify(sent, 0);
}

hostModules((message) => say({ kind: 'uncaught', message }));
process.once('exit', () => {
  store(sent, 1, 1);
  add(sent, 0, 1);
  notify(sent, 0);
});

port.on('message', (message: ToHost) => {
  if (message.kind === 'abort') aborts.get(message.id)?.abort();
  else if (message.kind === 'release') held.delete(message.target);
  else void answer(message.id, message.request);
});

/** What is thrown, or can't be sent, is an answer, too. */
async function answer(id: number, request: Request): Promise<void> {
  try {
    const { value, random } =
      request.kind === 'call' ? await call(id, request) : { value: await made(request) };
    say({ kind: 'answer', id, value, state: stateOf(random) });
  } catch (error) {
    say({ kind: 'thrown', id, error: sentError(error) });
  } finally {
    aborts.delete(id);
  }
}

async function made(request: Exclude<Request, { kind: 'call' }>): Promise<SentValue> {
  if (request.kind === 'load') {
    const { as, field, path } = request;
    const module = await importModule(typeof path === 'string' ? path : ownFile(path.own), as, field);
    modules[modules.length] = { kind: as, module };
    return { kind: 'data', value: { file: module.file, name: module.name, target: modules.length - 1 } };
  }
  const { kind, module } = modules[request.target]!;
  const object = await module.create(request.options, request.field, ...request.rest);
  if (typeof object !== 'object' || object === null) return sentValue(object);
  const members: Record<string, SentValue> = {};
  for (const name of membersOf[kind] ?? keys(object)) {
    const value = reading(name, () => sentValue((object as Record<string, unknown>)[name], object));
    if (value.kind !== 'data' || value.value !== undefined) members[name] = value;
  }
  return { kind: 'object', members };

  function reading<T>(name: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      const problem = `reading ${name} of what create returned: ${messageOf(error)}`;
      throw new UserError({ file: module.file, message: problem });
    }
  }
}

const ownFile = (path: string): string =>
  fileURLToPath(new URL(`../${path}${extname(import.meta.url)}`, import.meta.url));

async function call(id: number, { generator, given, later, target }: Request & { kind: 'call' }) {
  const random = generator && generatorOf(generator.generator);
  if (random !== undefined && generator?.state !== undefined) continueAt(random, generator.state);
  const parts = given.map((part) => (later ? withSignal(id, part) : part));
  const result = (held.get(target) as Callable)(...parts, ...(random === undefined ? [] : [random]));
  if (later) return { value: { kind: 'data', value: plainCopy(await result) }, random } as const;
  return { value: isPromise(result) ? ({ kind: 'promise' } as const) : sentValue(result), random };
}

function generatorOf(target: number): RandomGenerator {
  const known = held.get(target) ?? createGenerator(0);
  held.set(target, known);
  return known as RandomGenerator;
}

/** Options of a call as users' code gets them: what can't be sent is made here. */
function withSignal(id: number, part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('seeds' in part)) return part;
  const abort = new AbortController();
  aborts.set(id, abort);
  const onText = (...given: readonly unknown[]) =>
    say({ kind: 'text', id, given: plainCopy(given) as unknown[] });
  return { ...part, signal: abort.signal, onText };
}

function isPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || typeof (value as { then?: unknown }).then !== 'function')
    return false;
  // It may reject later.
  (value as Promise<unknown>).then(undefined, () => undefined);
  return true;
}

/** @param owner of a function */
function sentValue(value: unknown, owner?: object): SentValue {
  if (typeof value !== 'function') return { kind: 'data', value: plainCopy(value) };
  functions += 2;
  held.set(functions, (...given) => apply(value, owner, given));
  return { kind: 'function', target: functions };
}

function sentError(error: unknown): SentError {
  if (error instanceof UserError) return { kind: 'problems', problems: plainCopy(error.problems) as [] };
  const sent = { kind: 'error', message: messageOf(error), stack: stackOf(error) } as const;
  try {
    const isObject = typeof error === 'object' && error !== null;
    const name = isObject ? { name: String((error as Partial<Error>).name ?? 'Error') } : {};
    return { ...sent, detail: { ...(isObject && (plainCopy(error) as object)), ...name } };
  } catch {
    return { ...sent, detail: {} };
  }
}
