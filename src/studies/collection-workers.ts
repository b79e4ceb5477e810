/** Plays the runs of a collection in threads, a run in each. */
import type { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.js';
import type { CommandContext } from '../context.js';
import { startThread } from '../storage/thread.js';

/** What a thread is told at its start. */
export interface CollectorSetting {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** When it started, in milliseconds since 1970. */
  readonly time: number;
}

export interface CollectedJob {
  /** Of the run's directory. */
  readonly path: string;
  readonly config: Config;
}

export type CollectedNews =
  /** Since the last such news of this run. */
  | { readonly kind: 'evaluated'; readonly evaluations: number }
  | { readonly kind: 'ended'; readonly failure: string | undefined };

export interface CollectorListener<Job> {
  evaluated(evaluations: number): void;
  end(job: Job, failure: string | undefined): void;
}

/**
 * Plays all jobs. The first stop request ends it when the runs that are being played have ended, the second at once:
 * what a run had written by then stays, to go on from.
 * @throws what no run should throw
 */
export async function playInThreads<Job extends CollectedJob>(
  jobs: Iterator<Job>,
  threads: number,
  listener: CollectorListener<Job>,
  { cwd, env, now, stop }: Pick<CommandContext, 'cwd' | 'env' | 'now' | 'stop'>,
): Promise<void> {
  const workers: Worker[] = [];
  const endAll = () => Promise.all(workers.map((worker) => worker.terminate()));
  const onAbort = () => void endAll();
  stop.abort.addEventListener('abort', onAbort, { once: true });
  const serve = async (): Promise<void> => {
    let worker: Worker | undefined;
    while (!stop.finish.aborted && !stop.abort.aborted) {
      const { value: job, done } = jobs.next();
      if (done === true) return;
      if (worker === undefined) {
        const setting: CollectorSetting = { cwd, env: { ...env }, time: now().getTime() };
        worker = startThread(new URL('./collection-worker', import.meta.url), setting);
        workers.push(worker);
      }
      listener.end(job, await playIn(worker, job, listener));
    }
  };
  try {
    await Promise.all(Array.from({ length: threads }, serve));
  } catch (error) {
    if (!stop.abort.aborted) throw error;
  } finally {
    stop.abort.removeEventListener('abort', onAbort);
    await endAll();
  }
}

function playIn<Job extends CollectedJob>(
  worker: Worker,
  { path, config }: Job,
  listener: CollectorListener<Job>,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.on('message', (news: CollectedNews) => {
      if (news.kind === 'ended') resolve(news.failure);
      else listener.evaluated(news.evaluations);
    });
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`a thread ended with exit code ${code}`)));
    worker.postMessage({ path, config } satisfies CollectedJob);
  });
}
