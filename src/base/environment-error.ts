import { safeLines } from './terminal-text.js';

/**
 * Ways in which an environment or module fails. `raised`: threw an error; `timeout`: didn't answer in time;
 * `invalid`: returned a value such as NaN; `died`: exited or lost its connection; `protocol`: violated the protocol.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/**
 * Failure of an environment, a user's module or a thread that plays episodes. If an environment's process failed, the
 * message ends with the last lines of its output, if there are any.
 */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly kind: EnvironmentFailure;

  constructor(kind: EnvironmentFailure, message: string) {
    super(safeLines(message));
    this.kind = kind;
  }
}
