/** A child process that answers each line of JSON with a line of JSON. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import process from 'node:process';
import { EnvironmentError } from './remote-environment.js';

export interface BridgeProcess {
  /**
   * Sends a request and waits for its answer; one at a time.
   * @throws EnvironmentError when it takes too long, is no JSON, or the process has ended
   */
  request(message: object, timeoutMs?: number): Promise<unknown>;
  /** Ends the process: at once where it is at work, else when it has put its things away. */
  close(): Promise<void>;
}

export interface BridgeCommand {
  /** What is played, for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Longest wait for an answer, unless a request says otherwise. */
  readonly timeoutMs: number;
}

interface Pending {
  resolve(answer: unknown): void;
  reject(error: EnvironmentError): void;
}

/** Time to say where it hangs, and to end in order, before it is killed. */
const graceMs = 1000;

export function startBridge({
  name,
  command,
  args,
  timeoutMs: usualTimeoutMs,
}: BridgeCommand): BridgeProcess {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C is the parent's to handle, and what the environment started ends with it.
    detached: process.platform !== 'win32',
  });
  let pending: Pending | undefined;
  let failure: EnvironmentError | undefined;
  /** Set once an answer took too long. */
  let overdue: string | undefined;
  let stderr = '';
  let received = '';

  const fail = (kind: EnvironmentError['kind'], message: string): void => {
    failure ??= new EnvironmentError(kind, `${name}: ${message}${lastLines(stderr)}`);
    pending?.reject(failure);
    pending = undefined;
  };
  const ended = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      const missing = 'code' in error && error.code === 'ENOENT';
      fail('died', missing ? `there is no ${command}` : `${command} can't be started: ${error.message}`);
      resolve();
    });
    child.on('exit', (code, signal) => {
      const end = () => {
        // The question where it is ends a process that does not listen for it yet.
        if (overdue !== undefined) fail('timeout', overdue);
        fail('died', `its process ended (${signal === null ? `exit code ${code}` : `signal ${signal}`})`);
        resolve();
      };
      // `close` comes when its last words are read; a grandchild may keep the pipes open.
      child.on('close', end);
      setTimeout(end, graceMs).unref();
    });
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-8000);
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    received += text;
    const end = received.indexOf('\n');
    if (end < 0) return;
    const line = received.slice(0, end);
    received = received.slice(end + 1);
    const waiting = pending;
    pending = undefined;
    try {
      waiting?.resolve(JSON.parse(line));
    } catch {
      pending = waiting;
      fail('protocol', `no answer: ${line.slice(0, 200)}`);
      kill(child);
    }
  });
  // A child that has just ended can't be told; its `exit` rejects what is pending.
  child.stdin.on('error', () => {});
  holdOpen(child, false);

  return {
    async request(message, timeoutMs = usualTimeoutMs) {
      if (failure !== undefined) throw failure;
      holdOpen(child, true);
      const timer = setTimeout(async () => {
        overdue = `no answer in ${timeoutMs / 1000} s`;
        await askWhere(child);
        fail('timeout', overdue);
        kill(child);
      }, timeoutMs);
      try {
        return await new Promise((resolve, reject) => {
          pending = { resolve, reject };
          child.stdin.write(`${JSON.stringify(message)}\n`);
        });
      } finally {
        clearTimeout(timer);
        holdOpen(child, false);
      }
    },
    async close() {
      holdOpen(child, true);
      const busy = pending !== undefined;
      fail('died', 'it was closed');
      child.stdin.end();
      const timer = setTimeout(() => kill(child), busy ? 0 : graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The last lines that the process wrote, indented: one screen with what stands above them. */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-15);
  return text.trim() === '' ? '' : lines.map((line) => `\n  ${line.slice(0, 200)}`).join('');
}

/** A signal at which bridge.py writes where it is to standard error. */
async function askWhere(child: ChildProcess): Promise<void> {
  if (process.platform === 'win32' || !child.kill('SIGUSR1')) return;
  await new Promise((resolve) => {
    child.stderr?.once('data', () => setTimeout(resolve, 50));
    setTimeout(resolve, graceMs);
  });
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}

/** Only a process at work keeps this one alive. */
function holdOpen(child: ChildProcess, open: boolean): void {
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
    if (handle !== child && !(handle instanceof Socket)) continue;
    if (open) (handle as ChildProcess | Socket).ref();
    else (handle as ChildProcess | Socket).unref();
  }
}
