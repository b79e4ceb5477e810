/** The parent's side of the model's process: starts it when needed, again after a crash, and speaks with it. */
import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { UserError } from '../../../errors.js';
import { ModelError } from '../../language-model.js';
import type {
  FailureReport,
  FromProcess,
  GenerateJob,
  JobResult,
  LoadReport,
  LoadSettings,
  ToProcess,
} from '../engine/protocol.js';

interface JobOptions {
  readonly signal?: AbortSignal | undefined;
  /** More text of a candidate. */
  readonly onText?: ((candidate: number, text: string) => void) | undefined;
}

export interface ModelProcess {
  /**
   * Jobs run one after the other, in turns between the adapters that they ask for.
   * @throws ModelError when the job was aborted, can't be met, or the process ended
   * @throws UserError when the model or the device can't be used
   */
  generate(job: GenerateJob, options?: JobOptions): Promise<JobResult>;
  /** Loads the model now instead of at the first job. */
  load(): Promise<LoadReport>;
  /** Id of the running process, if any. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

interface Pending {
  resolve(result: JobResult): void;
  reject(error: Error): void;
  readonly onText: JobOptions['onText'];
  readonly started: number;
}

interface Running {
  readonly child: ChildProcess;
  readonly report: Promise<LoadReport>;
  readonly jobs: Map<number, Pending>;
}

export function openModelProcess(id: string, settings: LoadSettings): ModelProcess {
  let running: Running | undefined;
  let nextJob = 0;

  function start(): Running {
    const child = forkChild();
    const jobs = new Map<number, Pending>();
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => {
      stderr = (stderr + data.toString()).slice(-2000);
    });
    const report = new Promise<LoadReport>((resolve, reject) => {
      child.on('message', (message: FromProcess) => {
        if (message.kind === 'loaded') resolve(message.report);
        else if (message.kind === 'load-failed') {
          // What kept it from loading may be mended: the next call tries with a new process.
          if (running?.child === child) running = undefined;
          reject(errorOf(id, message.failure, 0));
          for (const job of jobs.values())
            job.reject(errorOf(id, message.failure, performance.now() - job.started));
          jobs.clear();
          child.kill();
        } else receive(jobs, message);
      });
      const ended = (reason: string) => {
        if (running?.child === child) running = undefined;
        const error = (latencyMs: number) =>
          new ModelError('server', `${id}: the model's process ended (${reason})${tail(stderr)}`, {
            retries: 0,
            latencyMs,
          });
        reject(error(0));
        for (const job of jobs.values()) job.reject(error(performance.now() - job.started));
        jobs.clear();
      };
      child.on('error', (error) => ended(error.message));
      child.on('exit', (code, signal) => ended(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
    // Whoever waits for the report or for a job learns of a failure; nobody else needs to.
    report.catch(() => {});
    tell(child, { kind: 'load', settings });
    return { child, report, jobs };
  }

  function receive(jobs: Map<number, Pending>, message: Extract<FromProcess, { id: number }>): void {
    const job = jobs.get(message.id);
    if (job === undefined) return;
    if (message.kind === 'text') {
      job.onText?.(message.candidate, message.text);
      return;
    }
    if (message.kind === 'done') job.resolve(message.result);
    else job.reject(errorOf(id, message.failure, performance.now() - job.started));
  }

  return {
    get pid() {
      return running?.child.pid;
    },
    async load() {
      running ??= start();
      const { child, jobs, report } = running;
      holdOpen(child, true);
      try {
        return await report;
      } finally {
        if (jobs.size === 0) holdOpen(child, false);
      }
    },
    async generate(job, { signal, onText } = {}) {
      const started = performance.now();
      const aborted = () =>
        new ModelError('aborted', `${id}: the call was aborted`, {
          retries: 0,
          latencyMs: performance.now() - started,
        });
      if (signal?.aborted) throw aborted();
      running ??= start();
      const { child, jobs } = running;
      const jobId = nextJob++;
      let onAbort: (() => void) | undefined;
      holdOpen(child, true);
      try {
        return await new Promise<JobResult>((resolve, reject) => {
          jobs.set(jobId, { resolve, reject, onText, started });
          onAbort = () => {
            tell(child, { kind: 'abort', id: jobId });
            reject(aborted());
          };
          signal?.addEventListener('abort', onAbort, { once: true });
          tell(child, { kind: 'generate', id: jobId, job });
        });
      } finally {
        jobs.delete(jobId);
        if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
        if (jobs.size === 0) holdOpen(child, false);
      }
    },
    async close() {
      const child = running?.child;
      running = undefined;
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      holdOpen(child, true);
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      // It may be in the middle of a run, which nothing else interrupts; it owns nothing that must be put away.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function errorOf(id: string, failure: FailureReport, latencyMs: number): Error {
  switch (failure.kind) {
    case 'user':
      return new UserError(failure.problems);
    case 'aborted':
      return new ModelError('aborted', `${id}: the call was aborted`, { retries: 0, latencyMs });
    case 'bad-request':
    case 'server':
      return new ModelError(failure.kind, `${id}: ${failure.message}`, { retries: 0, latencyMs });
  }
}

function tail(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? '' : `: ${line}`;
}

function tell(child: ChildProcess, message: ToProcess): void {
  // A child that just ended can't be told; its `exit` event rejects what is pending.
  if (child.connected) child.send(message, () => {});
}

/** Only a process with work to do keeps the parent alive. */
function holdOpen(child: ChildProcess, open: boolean): void {
  const handles = [child, child.channel, child.stderr instanceof Socket ? child.stderr : undefined];
  for (const handle of handles) {
    if (open) handle?.ref();
    else handle?.unref();
  }
}

function forkChild(): ChildProcess {
  const self = fileURLToPath(import.meta.url);
  const extension = path.extname(self);
  const child = fork(path.join(path.dirname(self), `child${extension}`), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // From sources (tests, development) the child needs the TypeScript loader too.
    execArgv:
      extension === '.ts'
        ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
        : [],
  });
  holdOpen(child, false);
  return child;
}
