import { harmlessLines } from './terminal-text.js';

/**
 * `raised`: it threw an error; `timeout`: it didn't answer in time; `invalid`: it returned a value such as NaN;
 * `died`: it exited; `protocol`: it violated the protocol.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/**
 * Failure of an external environment or a user's module. The message fits on one screen and includes the last
 * output of that program.
 */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly kind: EnvironmentFailure;

  constructor(kind: EnvironmentFailure, message: string) {
    super(harmlessLines(message));
    this.kind = kind;
  }
}
