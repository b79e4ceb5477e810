import { harmlessLines } from './terminal-text.js';

/**
 * How it failed: it `raised` an error, gave no answer in time (`timeout`), returned something `invalid` such as
 * NaN, its program, thread or connection ended (`died`), or its answer broke the `protocol`.
 */
export type EnvironmentFailure = 'raised' | 'timeout' | 'invalid' | 'died' | 'protocol';

/** Code outside this program failed: an environment that another program plays, or a user's module. The message is for people: one screen, with what that program said last. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly kind: EnvironmentFailure;

  constructor(kind: EnvironmentFailure, message: string) {
    super(harmlessLines(message));
    this.kind = kind;
  }
}
