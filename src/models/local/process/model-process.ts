import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { onAbort } from '../../../base/abortable.js';
import { UserError } from '../../../base/errors.js';
import { startProcess } from '../../../base/files/thread.js';
import { ModelError, type OnRead } from '../../language-model.js';
import type {
  ChildMessage,
  FailureReport,
  GenerationJob,
  JobResult,
  LoadReport,
  LoadSettings,
  ParentMessage,
} from '../generation/protocol.js';

interface PendingJob {
  resolve(result: JobResult): void;
  reject(error: Error): void;
  readonly onRead: OnRead | undefined;
  readonly startMs: number;
}

interface RunningProcess {
  readonly child: ChildProcess;
  readonly report: Promise<LoadReport>;
  readonly jobs: Map<number, PendingJob>;
}

/** Manages the model's process from its parent: starts it when needed, and again after a crash. */
export class ModelProcess {
  readonly #id: string;
  readonly #settings: LoadSettings;
  #process: RunningProcess | undefined;
  #nextJobId = 0;

  /** @param id the model's id, for error messages */
  constructor(id: string, settings: LoadSettings) {
    this.#id = id;
    this.#settings = settings;
  }

  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  async load(): Promise<LoadReport> {
    const { child, jobs, report } = this.#start();
    holdOpen(child, true);
    try {
      return await report;
    } finally {
      if (jobs.size === 0) holdOpen(child, false);
    }
  }

  /** Runs a job; at most `batch` (default: 1) run at once. @throws ModelError, or UserError if the model is unusable */
  async generate(job: GenerationJob, signal?: AbortSignal, onRead?: OnRead): Promise<JobResult> {
    const startMs = performance.now();
    const abortError = () => errorOf(this.#id, { kind: 'aborted' }, performance.now() - startMs);
    if (signal?.aborted) throw abortError();
    const { child, jobs } = this.#start();
    const id = this.#nextJobId++;
    let endWait = () => {};
    holdOpen(child, true);
    try {
      return await new Promise<JobResult>((resolve, reject) => {
        jobs.set(id, { resolve, reject, onRead, startMs });
        endWait = onAbort(signal, () => {
          send(child, { kind: 'abort', id });
          reject(abortError());
        });
        send(child, { kind: 'generate', id, job });
      });
    } finally {
      jobs.delete(id);
      endWait();
      if (jobs.size === 0) holdOpen(child, false);
    }
  }

  async close(): Promise<void> {
    const child = this.#process?.child;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    holdOpen(child, true);
    const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    // Nothing else can interrupt a forward pass, and the process has no state to save.
    child.kill('SIGKILL');
    await exit;
  }

  /** Returns the running process, or starts a new one. */
  #start(): RunningProcess {
    if (this.#process !== undefined) return this.#process;
    const child = forkChild();
    const jobs = new Map<number, PendingJob>();
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => {
      stderr = (stderr + data.toString()).slice(-2000);
    });
    const report = new Promise<LoadReport>((resolve, reject) => {
      const fail = (failure: FailureReport) => {
        // The cause may be temporary, so the next call starts a new process.
        if (this.#process?.child === child) this.#process = undefined;
        reject(errorOf(this.#id, failure, 0));
        for (const job of jobs.values())
          job.reject(errorOf(this.#id, failure, performance.now() - job.startMs));
        jobs.clear();
      };
      child.on('message', (message: ChildMessage) => {
        if (message.kind === 'loaded') resolve(message.report);
        else if (message.kind === 'load-failed') {
          fail(message.failure);
          child.kill();
        } else this.#receive(jobs, message);
      });
      const onEnd = (reason: string) =>
        fail({ kind: 'server', message: `the model's process ended (${reason})${lastLine(stderr)}` });
      child.on('error', (error) => onEnd(error.message));
      child.on('exit', (code, signal) => onEnd(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
    // Callers that await the report or a job receive the failure; unhandled, it would also crash the program.
    report.catch(() => {});
    send(child, { kind: 'load', settings: this.#settings });
    this.#process = { child, report, jobs };
    return this.#process;
  }

  #receive(jobs: ReadonlyMap<number, PendingJob>, message: Extract<ChildMessage, { id: number }>): void {
    const job = jobs.get(message.id);
    if (job === undefined) return;
    if (message.kind === 'read') job.onRead?.(message.read, message.total);
    else if (message.kind === 'done') job.resolve(message.result);
    else job.reject(errorOf(this.#id, message.failure, performance.now() - job.startMs));
  }
}

function errorOf(id: string, failure: FailureReport, latencyMs: number): Error {
  switch (failure.kind) {
    case 'user':
      return new UserError(failure.problems);
    case 'aborted':
      return new ModelError('aborted', `${id}: the call was aborted`, { retries: 0, latencyMs });
    case 'bad-request':
    case 'too-long':
    case 'server':
      return new ModelError(failure.kind, `${id}: ${failure.message}`, { retries: 0, latencyMs });
  }
}

function lastLine(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? '' : `: ${line}`;
}

function send(child: ChildProcess, message: ParentMessage): void {
  // A child that has just ended doesn't accept messages; its `exit` event rejects the pending jobs.
  if (child.connected) child.send(message, () => {});
}

/** Sets whether a child keeps the parent alive, which it should only do while it has work. */
function holdOpen(child: ChildProcess, open: boolean): void {
  const stderr = child.stderr instanceof Socket ? child.stderr : undefined;
  for (const handle of [child, child.channel, stderr]) handle?.[open ? 'ref' : 'unref']();
}

function forkChild(): ChildProcess {
  const child = startProcess(new URL('./child', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  holdOpen(child, false);
  return child;
}
