/**
 * Executes requests of other processes to the one that plays a plan: changes the number of concurrent runs,
 * or stops. Logs each of them.
 */
import { appendFileSync } from 'node:fs';
import type { CommandContext } from '../base/context.js';
import type { RunEvent } from '../runs/events.js';
import { jobsAsked, type PlanDirectory } from '../runs/finder.js';
import { Requests } from '../runs/requests.js';

interface Steerable {
  /** Number of complete runs. */
  readonly complete: () => number;
  readonly now: () => Date;
  /** Sets the number of concurrent runs. @returns the previous number */
  readonly setJobs: (jobs: number) => number;
}

/** Polling interval for requests. */
const lookMs = 250;

export class PlanControl {
  readonly #changes: string;
  readonly #requests: Requests;
  readonly #finish = new AbortController();
  readonly #abort = new AbortController();
  readonly #plan: Steerable;
  readonly #timer: NodeJS.Timeout;
  /** Stop requests from other processes. */
  readonly stop: CommandContext['stop'] = { finish: this.#finish.signal, abort: this.#abort.signal };

  /** @throws file system errors */
  constructor({ changes, directory }: Omit<PlanDirectory, 'lock'>, plan: Steerable) {
    this.#changes = changes;
    this.#requests = new Requests(directory);
    // Drops requests to an earlier process that ended before executing them.
    this.#requests.clear();
    this.#plan = plan;
    this.#timer = setInterval(() => {
      try {
        this.#look();
      } catch {
        // The runs report problems with the directory themselves.
      }
    }, lookMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#requests.clear();
  }

  #look(): void {
    for (const { number, request } of this.#requests.next()) {
      if (request?.action === 'stop') {
        this.#finish.abort();
        if (request.now) this.#abort.abort();
        this.#log(number, { action: 'stop' });
      } else if (request?.action === 'set') {
        const now = jobsAsked(request.overrides);
        const changes = typeof now === 'number' ? [{ key: 'jobs', was: this.#plan.setJobs(now), now }] : [];
        this.#log(number, { action: 'set', changes });
      }
    }
  }

  #log(request: number, done: Pick<Extract<RunEvent, { kind: 'controlled' }>, 'action' | 'changes'>): void {
    const iteration = this.#plan.complete();
    const time = this.#plan.now().toISOString();
    const event: RunEvent = { kind: 'controlled', request, iteration, unit: 'run', ...done };
    appendFileSync(this.#changes, `${JSON.stringify({ ...event, time })}\n`);
  }
}
