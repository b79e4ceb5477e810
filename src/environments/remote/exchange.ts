import { EnvironmentError } from './remote-environment.js';

/** A request at a time and its answer, with a program that plays an environment. The first failure ends it for good. */
export class Exchange<Answer> {
  readonly #name: string;
  #pending: { resolve(answer: Answer): void; reject(error: EnvironmentError): void } | undefined;
  #failure: EnvironmentError | undefined;

  /** @param name of what is played, for messages */
  constructor(name: string) {
    this.#name = name;
  }

  get busy(): boolean {
    return this.#pending !== undefined;
  }

  /** @throws EnvironmentError with the first failure */
  async ask(send: () => void, timeoutMs: number, onTimeout: () => void): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure;
    const timer = setTimeout(onTimeout, timeoutMs);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#pending = { resolve, reject };
        send();
      });
    } finally {
      clearTimeout(timer);
    }
  }

  answer(answer: Answer): void {
    this.#pending?.resolve(answer);
    this.#pending = undefined;
  }

  /** @returns the first failure */
  fail(kind: EnvironmentError['kind'], message: string): EnvironmentError {
    this.#failure ??= new EnvironmentError(kind, `${this.#name}: ${message}`);
    this.#pending?.reject(this.#failure);
    this.#pending = undefined;
    return this.#failure;
  }
}
