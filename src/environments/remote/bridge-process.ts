/**
 * A child process that replies to each line of JSON with a line of JSON. Each request has its own mark, which precedes
 * the reply, so other output and late or repeated replies aren't mistaken for it.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { childEnv } from '../../base/child-environment.js';
import { parseJson } from '../../base/files/json-depth.js';
import { type EnvironmentError, RequestChannel } from './remote-environment.js';

/** Time allowed for printing a traceback, for exiting before being killed, and for reading the last output. */
const graceMs = 1000;

export class BridgeProcess {
  readonly #defaultTimeoutMs: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #channel: RequestChannel<unknown>;
  /** Error message, set once a reply takes too long. */
  #timeoutMessage: string | undefined;
  #stderr = '';
  #mark = '';

  /**
   * @param name name of the environment, for messages
   * @param timeoutMs default time limit for a reply
   */
  constructor(name: string, command: string, args: readonly string[], timeoutMs: number) {
    this.#channel = new RequestChannel(name);
    this.#defaultTimeoutMs = timeoutMs;
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: childEnv(),
      // Own process group: only the parent handles Ctrl-C, and killing the group ends the environment's children, too.
      detached: process.platform !== 'win32',
    });
    this.#ended = this.#watchEnd(command);
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => this.#appendOutput(text));
    createInterface(this.#child.stdout).on('line', (line) => this.#receive(line));
    // Writing to a child that has just exited fails; its `exit` event rejects the pending request.
    this.#child.stdin.on('error', () => {});
    setKeepAlive(this.#child, false);
  }

  /** Sends a request and waits for the reply; only one at a time. @throws EnvironmentError if no valid reply arrives */
  async request(message: object, timeoutMs = this.#defaultTimeoutMs): Promise<unknown> {
    const onTimeout = async () => {
      this.#timeoutMessage = `no reply within ${timeoutMs / 1000} s`;
      await requestTraceback(this.#child);
      this.#stop('timeout', this.#timeoutMessage);
    };
    const send = () => {
      setKeepAlive(this.#child, true);
      this.#mark = randomBytes(12).toString('hex');
      this.#child.stdin.write(`${JSON.stringify({ ...message, mark: this.#mark })}\n`);
    };
    try {
      return await this.#channel.ask(send, timeoutMs, () => void onTimeout());
    } finally {
      setKeepAlive(this.#child, false);
    }
  }

  /** Ends the process: immediately if it is busy, otherwise after giving it time to clean up. */
  async close(): Promise<void> {
    setKeepAlive(this.#child, true);
    const { busy } = this.#channel;
    this.#fail('died', 'it was closed');
    this.#child.stdin.end();
    const timer = setTimeout(() => kill(this.#child), busy ? 0 : graceMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #appendOutput(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-8000);
  }

  #fail(kind: EnvironmentError['kind'], message: string): void {
    this.#channel.fail(kind, message + lastLines(this.#stderr));
  }

  #stop(kind: EnvironmentError['kind'], message: string): void {
    this.#fail(kind, message);
    kill(this.#child);
  }

  #watchEnd(command: string): Promise<void> {
    const child = this.#child;
    return new Promise<void>((resolve) => {
      child.on('error', (error) => {
        const isMissing = 'code' in error && error.code === 'ENOENT';
        const problem = isMissing ? 'was not found' : `can't be started: ${error.message}`;
        this.#fail('died', `${command} ${problem}`);
        resolve();
      });
      child.on('exit', (code, signal) => {
        // Also kill processes that the child left running.
        kill(child);
        const end = () => {
          // If SIGUSR1 killed a process that had no handler yet, report the timeout.
          if (this.#timeoutMessage !== undefined) this.#fail('timeout', this.#timeoutMessage);
          const cause = signal === null ? `exit code ${code}` : `signal ${signal}`;
          this.#fail('died', `its process ended (${cause})`);
          for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
          resolve();
        };
        // `close` fires once all output is read, but a grandchild may keep the pipes open.
        child.on('close', end);
        setTimeout(end, graceMs).unref();
      });
    });
  }

  #receive(line: string): void {
    const start = line.indexOf(this.#mark);
    if (start < 0 || !this.#channel.busy) {
      // Keep other output, which may explain a failure.
      if (line !== '') this.#appendOutput(`${line.slice(0, 200)}\n`);
      return;
    }
    const answer = line.slice(start + this.#mark.length);
    try {
      this.#channel.answer(parseJson(answer));
    } catch {
      this.#stop('protocol', `invalid reply: ${answer.slice(0, 200)}`);
    }
  }
}

/** Returns the last 15 lines of `text`, indented and cut to 200 characters each, to print below a message. */
export function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-15);
  return text.trim() === '' ? '' : lines.map((line) => `\n  ${line.slice(0, 200)}`).join('');
}

/** Except on Windows, sends the signal that makes bridge.py print its traceback, and waits up to a second for it. */
async function requestTraceback(child: ChildProcess): Promise<void> {
  if (process.platform === 'win32' || !child.kill('SIGUSR1')) return;
  await new Promise((resolve) => {
    child.stderr?.once('data', () => setTimeout(resolve, 50));
    setTimeout(resolve, graceMs);
  });
}

/** Kills the process and its process group, which the process may have left. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.kill('SIGKILL');
  if (process.platform === 'win32') return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process group has already ended.
  }
}

/** Sets whether the child keeps this process alive; only a busy child should. */
function setKeepAlive(child: ChildProcess, keepAlive: boolean): void {
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
    if (handle !== child && !(handle instanceof Socket)) continue;
    if (keepAlive) (handle as ChildProcess | Socket).ref();
    else (handle as ChildProcess | Socket).unref();
  }
}
