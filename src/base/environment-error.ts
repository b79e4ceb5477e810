import { harmlessLines } from './terminal-text.js';

/**
 * `raised` an error, gave no answer in time (`timeout`), returned something `invalid` such as NaN, ended
 * (`died`), or broke the `protocol`.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/**
 * An external environment or a user's module failed. The message is for people: one screen, with the last
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
