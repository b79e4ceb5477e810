/** A thread that runs programs for this one, which waits for each action; `host.ts` is the code inside it. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { startThread } from '../../base/files/thread.js';
import type { Action, EnvironmentSpec, Observation } from '../../environments/environment.js';
import {
  type ActingProgram,
  killedFault,
  type ProgramFailure,
  ProgramFault,
  programSeconds,
} from './program.js';

export type HostRequest =
  /** Compiles a program and starts an episode; later requests refer to it by this number. */
  | { readonly kind: 'start'; readonly episode: number; readonly source: string; readonly seed: number }
  | { readonly kind: 'act'; readonly episode: number; readonly observation: Observation }
  /** The episode is no longer used. */
  | { readonly kind: 'release'; readonly episode: number };

export type HostReply =
  | { readonly action?: Action }
  | { readonly failure: ProgramFailure }
  | { readonly error: string };

export interface HostSetting {
  readonly environment: EnvironmentSpec;
  readonly port: MessagePort;
  /** Number of replies so far. */
  readonly replies: Int32Array;
}

export class ProgramThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #replies = new Int32Array(new SharedArrayBuffer(4));
  readonly #released = new FinalizationRegistry<number>((episode) =>
    this.#port.postMessage({ kind: 'release', episode } satisfies HostRequest),
  );
  #episodes = 0;
  ended = false;

  private constructor({ id, observationSpace, actionSpace, words }: EnvironmentSpec) {
    const { port1, port2 } = new MessageChannel();
    const environment = { id, observationSpace, actionSpace, ...(words && { words }) };
    const setting: HostSetting = { environment, port: port2, replies: this.#replies };
    this.#port = port1;
    this.#worker = startThread(new URL('./host', import.meta.url), setting, [port2]);
    port1.unref();
  }

  static async open(environment: EnvironmentSpec): Promise<ProgramThread> {
    const thread = new ProgramThread(environment);
    await once(thread.#worker, 'message');
    thread.#worker.unref();
    return thread;
  }

  /** @throws ProgramFault like `Sandbox.build`, and if the program hangs, which ends the thread */
  build(source: string): ActingProgram {
    const forEpisode = (seed: number) => {
      const episode = ++this.#episodes;
      this.#ask({ kind: 'start', episode, source, seed });
      const act = (observation: Observation): Action =>
        this.#ask({ kind: 'act', episode, observation }, observation)!;
      this.#released.register(act, episode);
      return act;
    };
    return Object.assign(forEpisode(0), { forEpisode });
  }

  close(): void {
    this.ended = true;
    void this.#worker.terminate();
    this.#port.close();
  }

  /** Sends a request and blocks this thread until it is answered. */
  #ask(request: HostRequest, observation?: Observation): Action | undefined {
    if (this.ended) throw killedFault(observation);
    const before = Atomics.load(this.#replies, 0);
    this.#port.postMessage(request);
    Atomics.wait(this.#replies, 0, before, 1000 * programSeconds);
    const reply = receiveMessageOnPort(this.#port)?.message as HostReply | undefined;
    if (reply === undefined) {
      this.close();
      throw killedFault(observation);
    }
    if ('failure' in reply) throw new ProgramFault(reply.failure);
    if ('error' in reply) throw new Error(reply.error);
    return reply.action;
  }
}
