import { type ProgramFailure, ProgramFault } from '../../../src/policies/program/program.js';

/** The failure with which a program is refused or ends. */
export function failureOf(work: () => unknown): ProgramFailure {
  try {
    work();
  } catch (error) {
    if (error instanceof ProgramFault) return error.failure;
    throw error;
  }
  throw new Error('no fault');
}
