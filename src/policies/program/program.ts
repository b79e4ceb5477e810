/** Policies written as JavaScript programs: shared types. */
import type { Action, Observation } from '../../environments/environment.js';

/** A number in a program that can change without changing the program's structure. */
export interface ProgramConstant {
  /** Key of the constant, if the program declares it. */
  readonly name?: string;
  readonly value: number;
  /** Search range of the constant, inclusive. */
  readonly low: number;
  readonly high: number;
  /** Position of the number in the source, including its sign. */
  readonly start: number;
  readonly end: number;
}

/** A program, split into its structure and its constants. */
export interface Program {
  readonly source: string;
  /**
   * Identifies the structure: 48 bits of a SHA-256, equal for programs that differ only in constants, comments and
   * layout.
   */
  readonly structure: number;
  readonly constants: readonly ProgramConstant[];
}

/** Returns the parameters of a program: its structure, then the values of its constants. */
export const programParameters = ({ structure, constants }: Program): readonly number[] => [
  structure,
  ...constants.map(({ value }) => value),
];

/** A compiled program that chooses actions. */
export interface ActingProgram {
  (observation: Observation): Action;
  /** Starts an episode with fresh memory; returns the program to use for this episode only. */
  readonly forEpisode: (seed: number) => (observation: Observation) => Action;
}

/** The reason why a program can't be used, as plain data that can be recorded and sent between threads. */
export interface ProgramFailure {
  /** One line, such as `TypeError: cannot read property 'x' of undefined`. */
  readonly reason: string;
  /** 1-based line of the source. */
  readonly line?: number;
  /** The observation for which the program failed. */
  readonly observation?: Observation;
}

/** Thrown if a program can't be used or edited, e.g. for a syntax error, an invalid action or an exceeded limit. */
export class ProgramFault extends Error {
  override readonly name = 'ProgramFault';
  readonly failure: ProgramFailure;

  constructor(failure: ProgramFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}
