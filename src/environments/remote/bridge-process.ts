/**
 * A child process that answers each line of JSON with a line of JSON. Each request has a mark of its own, which stands
 * before the answer: whatever else reaches the pipe, or comes late or twice, is no answer.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import process from 'node:process';
import { childEnvironment } from '../../base/child-environment.js';
import { parseJson } from '../../storage/json-depth.js';
import { type EnvironmentError, Exchange } from './remote-environment.js';

interface BridgeCommand {
  /** Name of what is played, for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Longest wait for an answer, unless a request says otherwise. */
  readonly timeoutMs: number;
}

/** Time to say where it hangs, and to end in order, before it is killed. */
const graceMs = 1000;

/** In characters; a step of a thousand episodes with a thousand numbers each has a third of it. */
const longestAnswer = 64 * 2 ** 20;

/** The process and what is under way with it. Only a process at work keeps this one alive. */
export class BridgeProcess {
  readonly #usualTimeoutMs: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #exchange: Exchange<unknown>;
  /** Set once an answer took too long. */
  #overdue: string | undefined;
  #stderr = '';
  /** The beginning of a line, in parts as they came, and their length. */
  #line: string[] = [];
  #lineLength = 0;
  /** Stands before the answer that is waited for. */
  #mark = '';

  constructor({ name, command, args, timeoutMs }: BridgeCommand) {
    this.#exchange = new Exchange(name);
    this.#usualTimeoutMs = timeoutMs;
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: childEnvironment(),
      // A group of its own: Ctrl-C is the parent's to handle, and what the environment started ends with it.
      detached: process.platform !== 'win32',
    });
    this.#ended = this.#watchEnd(command);
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-8000);
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#receive(text));
    // A child that has just ended can't be told; its `exit` rejects what is pending.
    this.#child.stdin.on('error', () => {});
    holdOpen(this.#child, false);
  }

  /**
   * Sends a request and waits for its answer; one at a time.
   * @throws EnvironmentError when it takes too long, is no JSON, or the process has ended
   */
  async request(message: object, timeoutMs = this.#usualTimeoutMs): Promise<unknown> {
    const child = this.#child;
    const onTimeout = async () => {
      this.#overdue = `no answer in ${timeoutMs / 1000} s`;
      await askWhere(child);
      this.#fail('timeout', this.#overdue);
      kill(child);
    };
    const send = () => {
      holdOpen(child, true);
      this.#mark = randomBytes(12).toString('hex');
      child.stdin.write(`${JSON.stringify({ ...message, mark: this.#mark })}\n`);
    };
    try {
      return await this.#exchange.ask(send, timeoutMs, () => void onTimeout());
    } finally {
      holdOpen(child, false);
    }
  }

  /** Ends the process: at once where it is at work, else when it has put its things away. */
  async close(): Promise<void> {
    holdOpen(this.#child, true);
    const { busy } = this.#exchange;
    this.#fail('died', 'it was closed');
    this.#child.stdin.end();
    const timer = setTimeout(() => kill(this.#child), busy ? 0 : graceMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #fail(kind: EnvironmentError['kind'], message: string): void {
    this.#exchange.fail(kind, message + lastLines(this.#stderr));
  }

  #watchEnd(command: string): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#child.on('error', (error) => {
        const missing = 'code' in error && error.code === 'ENOENT';
        this.#fail(
          'died',
          missing ? `there is no ${command}` : `${command} can't be started: ${error.message}`,
        );
        resolve();
      });
      this.#child.on('exit', (code, signal) => {
        // What it started and left behind ends with it.
        kill(this.#child);
        const end = () => {
          // The question where it is ends a process that does not listen for it yet.
          if (this.#overdue !== undefined) this.#fail('timeout', this.#overdue);
          this.#fail(
            'died',
            `its process ended (${signal === null ? `exit code ${code}` : `signal ${signal}`})`,
          );
          for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) pipe.destroy();
          resolve();
        };
        // `close` comes when its last words are read; a grandchild may keep the pipes open.
        this.#child.on('close', end);
        setTimeout(end, graceMs).unref();
      });
    });
  }

  #receive(text: string): void {
    const [first = '', ...more] = text.split('\n');
    this.#line.push(first);
    this.#lineLength += first.length;
    if (this.#lineLength > longestAnswer) {
      this.#line = [];
      this.#fail('protocol', `an answer is longer than ${longestAnswer} characters`);
      kill(this.#child);
      return;
    }
    if (more.length === 0) return;
    const lines = [this.#line.join(''), ...more.slice(0, -1)];
    const rest = more.at(-1)!;
    this.#line = [rest];
    this.#lineLength = rest.length;
    for (const line of lines) this.#receiveLine(line);
  }

  #receiveLine(line: string): void {
    const start = line.indexOf(this.#mark);
    if (start < 0 || !this.#exchange.busy) {
      // Told where it fails: it may say why.
      if (line !== '') this.#stderr = `${this.#stderr}${line.slice(0, 200)}\n`.slice(-8000);
      return;
    }
    const answer = line.slice(start + this.#mark.length);
    try {
      this.#exchange.answer(parseJson(answer));
    } catch {
      this.#fail('protocol', `no answer: ${answer.slice(0, 200)}`);
      kill(this.#child);
    }
  }
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

/** Ends the process and all of its group, which it may have left. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.kill('SIGKILL');
  if (process.platform === 'win32') return;
  try {
    process.kill(-child.pid, 'SIGKILL');
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
