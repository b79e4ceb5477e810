import { harmlessLines } from './terminal-text.js';

/**
 * `raised`: it threw an error; `timeout`: it didn't answer in time; `invalid`: it returned a value such as NaN;
 * `died`: it exited; `protocol`: it violated the protocol.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/**
 * Failure of an external environment or a user's module. If a process failed, the message includes the last lines of
 * its output.
 */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly kind: EnvironmentFailure;

  constructor(kind: EnvironmentFailure, message: string) {
    super(harmlessLines(message));
    this.kind = kind;
  }
}
