/**
 * The thread that runs users' modules, as seen by the rest of the program. Results arrive as plain data and
 * proxy functions, so calls can be stopped, and reading results runs no user code.
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
import {
  type FromHost,
  type HostSetting,
  plainCopy,
  type Request,
  type SentError,
  type SentValue,
  type ToHost,
} from './host-messages.js';
import { watchPulse } from './pulse.js';

/** Default time limit for a call of user code, in seconds. */
export const usualSeconds = 60;

export interface CallSetting {
  /** File name, shown in messages. */
  readonly origin: string;
  readonly seconds: number;
  /** True if functions return promises; otherwise, calls block this thread until they return. */
  readonly later: boolean;
}

/** Why the thread ended and, if known, the file responsible. */
interface Failure {
  readonly kind: EnvironmentFailure;
  readonly message: string;
  readonly by?: string;
}

type Answer = FromHost & { kind: 'answer' };

/** Additional options of calls that return promises. */
interface Later {
  readonly signal?: AbortSignal;
  readonly onText?: (...given: readonly unknown[]) => void;
}

interface Pending extends Later {
  /** Called without an answer if the thread has ended. */
  settle(answer?: FromHost): void;
}

/** Once a call has blocked this thread for this long (ms), signals get their default handling and end the process. */
const patienceMs = 500;
/** Milliseconds that user code has to return after its call is cancelled. */
const afterAbortMs = 5000;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class ModuleThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #shared = new Int32Array(new SharedArrayBuffer(12));
  readonly #pending = new Map<number, Pending>();
  readonly #released = new FinalizationRegistry<number>((target) => this.#post({ kind: 'release', target }));
  #requests = 0;
  #failure: Failure | undefined;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = startThread(new URL('./host', import.meta.url), undefined);
    this.#worker.postMessage({ port: port2, shared: this.#shared } satisfies HostSetting, [port2]);
    this.#worker.on('error', ({ message }) =>
      this.#end({ kind: 'died', message: `its thread ended: ${message}` }),
    );
    this.#worker.on('exit', (code) => {
      // The last messages may explain why the thread ended.
      for (const message of this.#arrived()) this.#receive(message);
      this.#end(exited(code));
    });
    port1.on('message', (message: FromHost) => this.#receive(message));
    // Only calls keep the process alive; handles that modules leave open don't.
    this.#worker.unref();
    port1.unref();
  }

  get ended(): boolean {
    return this.#failure !== undefined;
  }

  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  /** Ends the thread, even during a call. */
  close(): void {
    this.#end({ kind: 'died', message: 'its thread was closed' });
  }

  /** @throws UserError from the module; EnvironmentError if it doesn't return in time or ends its thread */
  async load(request: Omit<Request & { kind: 'load' }, 'kind'>, setting: CallSetting) {
    const { value } = await this.#ask({ kind: 'load', ...request }, setting);
    const { target, ...module } = this.#decoded(value, '', setting) as {
      file: string;
      name: string;
      target: number;
    };
    return {
      ...module,
      create: async (...given: readonly unknown[]): Promise<unknown> => {
        const create = { kind: 'create', target, given: given.map((part) => plainCopy(part)) } as const;
        return this.#decoded((await this.#ask(create, setting)).value, 'create', setting);
      },
    };
  }

  #end(failure: Failure): void {
    this.#failure ??= failure;
    for (const { settle } of this.#pending.values()) settle();
    void this.#worker.terminate();
    this.#port.close();
  }

  #late(name: string, { origin, seconds }: CallSetting): void {
    this.#end({ kind: 'timeout', message: `${name} did not return within ${seconds} s`, by: origin });
  }

  readonly #post = (message: ToHost) => this.#port.postMessage(message);

  #receive(message: FromHost): void {
    if (message.kind === 'uncaught')
      this.#end({ kind: 'died', message: `uncaught error: ${message.message}` });
    else if (message.kind === 'text') this.#pending.get(message.id)?.onText?.(...message.given);
    else this.#pending.get(message.id)?.settle(message);
  }

  /** @throws the error that user code threw, or the error that ended its thread */
  #answered(answer: FromHost | undefined, { origin }: CallSetting): Answer {
    if (answer?.kind === 'answer') return answer;
    if (answer?.kind === 'thrown') throw thrownError(answer.error);
    const { by = origin, kind, message } = this.#failure!;
    throw new EnvironmentError(kind, `${by}: ${message}`);
  }

  /** @throws like `#answered`; UserError if loading or creating fails */
  async #ask(request: Request, setting: CallSetting, more: Later = {}): Promise<Answer> {
    if (this.#failure !== undefined) return this.#answered(undefined, setting);
    const id = ++this.#requests;
    this.#worker.ref();
    const endWatch = watchPulse(this.#shared, setting.seconds, (call) => this.#late(call, setting));
    const endWait = onAbort(more.signal, () => {
      this.#post({ kind: 'abort', id });
      setTimeout(() => this.#pending.has(id) && this.close(), afterAbortMs).unref();
    });
    try {
      const answer = await new Promise<FromHost | undefined>((settle) => {
        this.#pending.set(id, { ...more, settle });
        this.#post({ kind: 'request', id, request });
      });
      const isStart = request.kind !== 'call' && answer?.kind === 'thrown' && 'message' in answer.error;
      if (isStart && !(thrownError(answer.error) instanceof EnvironmentError))
        throw new UserError({ file: setting.origin, message: `can't be used: ${answer.error.message}` });
      return this.#answered(answer, setting);
    } finally {
      this.#pending.delete(id);
      endWatch();
      endWait();
      if (!this.isBusy) this.#worker.unref();
    }
  }

  /** Sends a request and blocks this thread until it is answered. @throws like `#answered` */
  #askNow(request: Request, name: string, setting: CallSetting): Answer {
    if (this.#failure !== undefined) return this.#answered(undefined, setting);
    const id = ++this.#requests;
    this.#post({ kind: 'request', id, request });
    const end = performance.now() + 1000 * setting.seconds;
    const answer =
      this.#received(id, Math.min(end, performance.now() + patienceMs)) ??
      withDefaultSignals(() => this.#received(id, end));
    if (answer === undefined && this.#failure === undefined) this.#late(name, setting);
    return this.#answered(answer, setting);
  }

  *#arrived(): Generator<FromHost, void> {
    for (;;) {
      const got = receiveMessageOnPort(this.#port);
      if (got === undefined) return;
      yield got.message as FromHost;
    }
  }

  /** Waits for the answer; undefined after `end`, or if the thread has ended. */
  #received(id: number, end: number): FromHost | undefined {
    for (;;) {
      const [sent, hasEnded] = [Atomics.load(this.#shared, 0), Atomics.load(this.#shared, 1)];
      for (const message of this.#arrived()) {
        if ('id' in message && message.id === id && message.kind !== 'text') return message;
        this.#receive(message);
      }
      if (hasEnded === 1) this.#end(exited());
      const left = end - performance.now();
      if (this.#failure !== undefined || left <= 0) return undefined;
      Atomics.wait(this.#shared, 0, sent, left);
    }
  }

  #decoded(value: SentValue, name: string, setting: CallSetting): unknown {
    if ('data' in value) return value.data;
    if ('promise' in value) return Promise.resolve();
    if ('members' in value)
      return Object.fromEntries(
        Object.entries(value.members).map(([key, member]) => [key, this.#decoded(member, key, setting)]),
      );
    const called = (...given: readonly unknown[]) => this.#call(value.function, name, given, setting);
    this.#released.register(called, value.function);
    return called;
  }

  #call(target: number, name: string, parts: readonly unknown[], setting: CallSetting): unknown {
    const { later } = setting;
    const isRandom = (part: unknown): part is RandomGenerator => stateOf(part) !== undefined;
    const generator = parts.find(isRandom);
    const given = parts.filter((part) => !isRandom(part)).map((part) => plainCopy(part));
    const request = { kind: 'call', target, given, random: stateOf(generator), later } as const;
    if (later) {
      const more = parts.find(
        (part): part is Later => typeof part === 'object' && part !== null && 'seeds' in part,
      );
      return this.#ask(request, setting, more).then(({ value }) => this.#decoded(value, name, setting));
    }
    const { random, value } = this.#askNow(request, name, setting);
    if (generator !== undefined && random !== undefined) continueAt(generator, random);
    return this.#decoded(value, name === 'build' ? 'the policy' : name, setting);
  }
}

function thrownError(error: SentError): Error {
  if ('problems' in error) return new UserError(error.problems);
  const { detail, message, stack } = error;
  const { kind, name } = detail as Partial<EnvironmentError>;
  return name === 'EnvironmentError'
    ? new EnvironmentError(kind!, message)
    : Object.assign(new Error(message), detail, { stack });
}

const exited = (code?: number): Failure => ({
  kind: 'died',
  message: `it ended its thread${code === undefined ? '' : ` with exit code ${code}`}: modules must not call process.exit`,
});

/** Restores default signal handling while this thread is blocked. */
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

/** The thread for all users' modules that this thread calls; started on first use, and again after it has ended. */
export function moduleThread(): ModuleThread {
  if (shared === undefined || shared.ended) shared = new ModuleThread();
  return shared;
}
