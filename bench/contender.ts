import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';

/** A process that runs a training step for each line on its standard input, and prints its time as a line of JSON. */
export class Contender<Answer> {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #lines: Interface;

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    // When the process ends, so do its answers, and `ask` returns undefined.
    this.#child.on('error', () => undefined);
    this.#child.stdin!.on('error', () => undefined);
    this.#lines = createInterface({ input: this.#child.stdout! });
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  /** @returns undefined if the process has ended */
  async ask(what: string): Promise<Answer | undefined> {
    this.#child.stdin!.write(`${what}\n`);
    const { value, done } = await this.#answers.next();
    return done === true ? undefined : (JSON.parse(value) as Answer);
  }

  close(): void {
    this.#child.stdin!.end();
    this.#lines.close();
  }
}
