/** Starts a thread that executes runs one after another; `player-thread.ts` is the code inside it. */

import type { Worker } from 'node:worker_threads';
import { onAbort } from '../base/abortable.js';
import type { CommandContext } from '../base/context.js';
import type { RunEvent } from '../runs/events.js';
import { startThread } from '../storage/thread.js';
import type { Job, RunEnd } from './play-run.js';

/** Data passed to a thread when it starts. */
export interface ThreadSetting {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Time at the start of the thread, in milliseconds since 1970. */
  readonly time: number;
}

export type ToThread = { readonly kind: 'play'; readonly job: Job } | { readonly kind: 'finish' | 'abort' };

export type FromThread =
  /** Events of the current run, without trajectories. */
  | { readonly kind: 'events'; readonly events: readonly RunEvent[] }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'ended'; readonly end: RunEnd };

export class PlayerThread {
  readonly #worker: Worker;
  readonly #context: CommandContext;
  readonly #endWaits: readonly (() => void)[];

  constructor(context: CommandContext) {
    const { cwd, env, now, stop } = context;
    const setting: ThreadSetting = { cwd, env: { ...env }, time: now().getTime() };
    this.#context = context;
    this.#worker = startThread(new URL('./player-thread', import.meta.url), setting);
    this.#endWaits = [
      onAbort(stop.finish, () => this.#post({ kind: 'finish' })),
      onAbort(stop.abort, () => this.#post({ kind: 'abort' })),
    ];
  }

  /** Executes a run in the thread. @throws system errors, and any error that ended the thread */
  play(job: Job, show: (event: RunEvent) => void): Promise<RunEnd> {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners();
      this.#worker.on('message', (message: FromThread) => {
        if (message.kind === 'note') this.#context.note(message.text);
        else if (message.kind === 'ended') resolve(message.end);
        else for (const event of message.events) show(event);
      });
      this.#worker.once('error', reject);
      this.#worker.once('exit', (code) => reject(new Error(`a thread ended with exit code ${code}`)));
      this.#post({ kind: 'play', job });
    });
  }

  async close(): Promise<void> {
    for (const endWait of this.#endWaits) endWait();
    this.#worker.removeAllListeners();
    await this.#worker.terminate();
  }

  readonly #post = (message: ToThread) => this.#worker.postMessage(message);
}
