/**
 * The thread that users' modules run in, as the rest of the program sees it. What they make arrives as plain data and
 * functions of this thread, which call theirs and wait: a call can be stopped, and what it returns has been read.
 */
import process from 'node:process';
import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker,
} from 'node:worker_threads';
import { onAbort } from '../base/abortable.js';
import { EnvironmentError, type EnvironmentFailure } from '../base/environment-error.js';
import { UserError } from '../base/errors.js';
import { continueAt, type RandomGenerator, stateOf } from '../random/generator.js';
import { startThread } from '../storage/thread.js';
import type {
  FromHost,
  HostSetting,
  Request,
  SentError,
  SentGenerator,
  SentValue,
  ToHost,
} from './host-messages.js';
import { plainCopy } from './plain.js';

/** Longest wait for a call of users' code, in seconds. */
export const usualSeconds = 60;

/** How a call is made, and told of where it fails. */
export interface CallSetting {
  /** Name of the file. */
  readonly origin: string;
  readonly seconds: number;
  /** Functions that return promises have no limit, or the same one; others block this thread. */
  readonly waits: 'blocking' | 'limited' | 'patient';
}

interface Pending {
  /** Called without an answer where the thread has ended. */
  settle(answer?: FromHost): void;
  readonly onText?: ((...given: readonly unknown[]) => void) | undefined;
}

/** Why the thread ended, and the file that did it, where that is known. */
interface Failure {
  readonly kind: EnvironmentFailure;
  readonly message: string;
  readonly by?: string;
}

/** How long a call may last before a Ctrl-C ends the process, as the event loop can't turn meanwhile. */
const patienceMs = 500;
/** How long users' code may go on with a call that is no longer wanted. */
const afterAbortMs = 5000;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class ModuleThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #sent = new Int32Array(new SharedArrayBuffer(8));
  readonly #pending = new Map<number, Pending>();
  readonly #released = new FinalizationRegistry<number>((target) => this.#tell({ kind: 'release', target }));
  readonly #generators = new WeakMap<RandomGenerator, SentGenerator>();
  #requests = 0;
  #failure: Failure | undefined;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const setting: HostSetting = { port: port2, sent: this.#sent };
    this.#worker = startThread(new URL('./host', import.meta.url), undefined);
    this.#worker.postMessage(setting, [port2]);
    this.#worker.on('error', ({ message }) =>
      this.#end({ kind: 'died', message: `its thread ended: ${message}` }),
    );
    this.#worker.on('exit', (code) => this.#end(exited(code)));
    port1.on('message', (message: FromHost) => this.#receive(message));
    // Whatever modules leave open does not keep the process alive; only a call does.
    this.#worker.unref();
    port1.unref();
  }

  get ended(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether a call is waited for. */
  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  close(): void {
    this.#end({ kind: 'died', message: 'it was closed' });
  }

  /** @throws UserError of the module; EnvironmentError where it does not return in time */
  async load(request: Request & { kind: 'load' }, setting: CallSetting) {
    const loaded = decodedData(await this.#ask(request, 'the top level', setting));
    const { target, ...module } = loaded as { file: string; name: string; target: number };
    return {
      ...module,
      create: async (
        options: Readonly<Record<string, unknown>>,
        field: string,
        ...rest: readonly unknown[]
      ): Promise<unknown> => {
        const parts = rest.map((part) => plainCopy(part));
        const create = { kind: 'create', target, options, field, rest: parts } as const;
        const made = await this.#ask(create, 'create', setting);
        return this.#decoded(made.value, 'create', setting);
      },
    };
  }

  /** Ends the thread. What was made by it fails from then on. */
  #end(failure: Failure): void {
    this.#failure ??= failure;
    for (const { settle } of this.#pending.values()) settle();
    void this.#worker.terminate();
    this.#port.close();
  }

  #late(name: string, { origin, seconds }: CallSetting): void {
    this.#end({ kind: 'timeout', message: `${name} did not return within ${seconds} s`, by: origin });
  }

  /** @throws what users' code threw, or what ended its thread */
  #answered(answer: FromHost | undefined, { origin }: CallSetting): Answer {
    if (answer?.kind === 'answer') return answer;
    if (answer?.kind === 'thrown') throw thrownError(answer.error);
    const { by = origin, kind, message } = this.#failure!;
    throw new EnvironmentError(kind, `${by}: ${message}`);
  }

  readonly #tell = (message: ToHost) => this.#port.postMessage(message);

  #receive(message: FromHost): void {
    if (message.kind === 'uncaught')
      this.#end({ kind: 'died', message: `an error that nothing caught: ${message.message}` });
    else if (message.kind === 'text') this.#pending.get(message.id)?.onText?.(...message.given);
    else this.#pending.get(message.id)?.settle(message);
  }

  /** @throws as `#answered` */
  async #ask(request: Request, name: string, setting: CallSetting, more?: Later): Promise<Answer> {
    if (this.#failure !== undefined) return this.#answered(undefined, setting);
    const id = ++this.#requests;
    this.#worker.ref();
    // What takes its time keeps the process alive by this timer.
    const timer = setInterval(() => {
      if (setting.waits !== 'patient' || request.kind !== 'call') this.#late(name, setting);
    }, 1000 * setting.seconds);
    const stop = onAbort(more?.signal, () => {
      this.#tell({ kind: 'abort', id });
      setTimeout(() => this.#pending.has(id) && this.#late(name, setting), afterAbortMs).unref();
    });
    try {
      const answer = await new Promise<FromHost | undefined>((settle) => {
        this.#pending.set(id, { settle, onText: more?.onText });
        this.#tell({ kind: 'request', id, request });
      });
      if (answer?.kind === 'thrown' && answer.error.kind === 'error' && request.kind !== 'call')
        throw new UserError({ file: setting.origin, message: `${name}: ${answer.error.message}` });
      return this.#answered(answer, setting);
    } finally {
      this.#pending.delete(id);
      clearInterval(timer);
      stop();
      if (this.#pending.size === 0) this.#worker.unref();
    }
  }

  /** Makes a request and waits for its answer, while nothing else happens in this thread. @throws as `#answered` */
  #askNow(request: Request, name: string, setting: CallSetting): Answer {
    if (this.#failure !== undefined) return this.#answered(undefined, setting);
    const id = ++this.#requests;
    this.#tell({ kind: 'request', id, request });
    const end = performance.now() + 1000 * setting.seconds;
    const answer =
      this.#received(id, Math.min(end, performance.now() + patienceMs)) ??
      withDefaultSignals(() => this.#received(id, end));
    if (answer === undefined && this.#failure === undefined) this.#late(name, setting);
    return this.#answered(answer, setting);
  }

  /** The answer, as soon as it is there; undefined where it is not by then, or the thread has ended. */
  #received(id: number, end: number): FromHost | undefined {
    for (;;) {
      const sent = Atomics.load(this.#sent, 0);
      const hasEnded = Atomics.load(this.#sent, 1) === 1;
      for (
        let got = receiveMessageOnPort(this.#port);
        got !== undefined;
        got = receiveMessageOnPort(this.#port)
      ) {
        const message = got.message as FromHost;
        if ('id' in message && message.id === id && message.kind !== 'text') return message;
        this.#receive(message);
      }
      if (hasEnded && this.#failure === undefined) this.#end(exited());
      const left = end - performance.now();
      if (this.#failure !== undefined || left <= 0) return undefined;
      Atomics.wait(this.#sent, 0, sent, left);
    }
  }

  #decoded(value: SentValue, name: string, setting: CallSetting): unknown {
    switch (value.kind) {
      case 'data':
        return value.value;
      case 'promise':
        return Promise.resolve();
      case 'object':
        return Object.fromEntries(
          Object.entries(value.members).map(([key, member]) => [key, this.#decoded(member, key, setting)]),
        );
      case 'function': {
        const called = (...given: readonly unknown[]) => this.#call(value.target, name, given, setting);
        this.#released.register(called, value.target);
        return called;
      }
    }
  }

  #call(target: number, name: string, parts: readonly unknown[], setting: CallSetting): unknown {
    const later = setting.waits !== 'blocking';
    const random = parts.find((part): part is RandomGenerator => stateOf(part) !== undefined);
    const given = parts.filter((part) => part !== random).map((part) => plainCopy(part));
    const generator = random && this.#sentGenerator(random);
    const request = { kind: 'call', target, given, generator, later } as const;
    if (later) {
      const more = parts.find(
        (part): part is Later => typeof part === 'object' && part !== null && 'seeds' in part,
      );
      return this.#ask(request, name, setting, more).then((answer) => decodedData(answer));
    }
    const { state, value } = this.#askNow(request, name, setting);
    if (random !== undefined && generator !== undefined && state !== undefined) {
      continueAt(random, state);
      this.#generators.set(random, { generator: generator.generator, state });
    }
    return this.#decoded(value, name === 'build' ? 'the policy' : name, setting);
  }

  /** Its state is sent unless the other side has drawn from it last. */
  #sentGenerator(random: RandomGenerator): SentGenerator {
    const known = this.#generators.get(random);
    const state = stateOf(random)!;
    if (known?.state?.every((word, i) => word === state[i])) return { generator: known.generator };
    if (known !== undefined) return { generator: known.generator, state };
    this.#requests++;
    const generator = 2 * this.#requests + 1;
    this.#released.register(random, generator);
    return { generator, state };
  }
}

/** Options of a call that is waited for. */
interface Later {
  readonly signal?: AbortSignal;
  readonly onText?: (...given: readonly unknown[]) => void;
}

type Answer = FromHost & { kind: 'answer' };

function thrownError(error: SentError): Error {
  if (error.kind === 'problems') return new UserError(error.problems);
  const { detail, message, stack } = error;
  return Object.assign(new Error(message), detail, { stack });
}

const decodedData = ({ value }: Answer): unknown => (value.kind === 'data' ? value.value : undefined);

const exited = (code?: number) => ({
  kind: 'died' as const,
  message: `it ended its thread${code === undefined ? '' : ` with exit code ${code}`}: a module may not call process.exit`,
});

/** While nothing in this thread can handle signals, they end the process as they do any other. */
function withDefaultSignals<T>(wait: () => T): T {
  if (!isMainThread) return wait();
  const handlers = signals.map((signal) => [signal, process.listeners(signal)] as const);
  for (const signal of signals) process.removeAllListeners(signal);
  try {
    return wait();
  } finally {
    for (const [signal, listeners] of handlers)
      for (const listener of listeners) process.on(signal, listener);
  }
}

let shared: ModuleThread | undefined;

/** The thread of users' modules that this thread has, started as it is first needed. */
export function moduleThread(): ModuleThread {
  if (shared === undefined || shared.ended) shared = new ModuleThread();
  return shared;
}
