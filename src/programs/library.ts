/** The programs of a run. Parameter vectors refer to them by their structure. */
import { UserError } from '../base/errors.js';
import type { Space } from '../environments/environment.js';
import { type Program, programParameters } from './program.js';
import { parseProgram, withConstants } from './source.js';

/** All programs that a run has seen, by structure; the first one with a structure represents it. */
export interface ProgramLibrary {
  /** Adds a program, unless its structure is known. Returns its parameters. @throws ProgramFault if it can't be used */
  add(source: string): readonly number[];
  /** Parses a program without adding it. @throws ProgramFault */
  parse(source: string): Program;
  /** The program with the constants of these parameters. @throws UserError if its structure is unknown */
  program(parameters: readonly number[]): Program;
}

export function createProgramLibrary(actionSpace: Space): ProgramLibrary {
  const known = new Map<number, Program>();
  const parse = (source: string) => parseProgram(source, actionSpace);
  return {
    parse,
    add(source) {
      const program = parse(source);
      if (!known.has(program.structure)) known.set(program.structure, program);
      return programParameters(program);
    },
    program([structure = 0, ...constants]) {
      const program = known.get(structure);
      if (program === undefined || program.constants.length !== constants.length)
        throw new UserError({
          message: `the source of program ${structure.toString(16)} is missing`,
          remedy: 'restore evaluations.jsonl of the run from a copy',
        });
      const isSame = program.constants.every(({ value }, i) => value === constants[i]);
      return isSame ? program : parse(withConstants(program, constants));
    },
  };
}
