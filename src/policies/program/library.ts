/** The programs of a run, which parameter vectors refer to. */
import { UserError } from '../../base/errors.js';
import type { Space } from '../../environments/environment.js';
import { withDeclarations } from './declarations.js';
import { type Program, programParameters } from './program.js';
import { parseProgram } from './source.js';

/** All programs that a run has seen, by their parameters. */
export interface ProgramLibrary {
  /** Adds a program and returns its parameters. @throws ProgramFault if it can't be used */
  add(source: string): readonly number[];
  /** Adds missing declarations to a program; see `withDeclarations`. @throws ProgramFault if it can't be parsed */
  addDeclarations(source: string): string;
  /** Parses a program without adding it. @throws ProgramFault if it can't be used */
  parse(source: string): Program;
  /** The program with these parameters. @throws UserError if it is unknown */
  program(parameters: readonly number[]): Program;
}

/** @param components names of the observation's components */
export function createProgramLibrary(actionSpace: Space, components: readonly string[] = []): ProgramLibrary {
  const programs = new Map<string, Program>();
  const parse = (source: string) => parseProgram(source, actionSpace);
  return {
    parse,
    addDeclarations: (source) => withDeclarations(source, components),
    add(source) {
      const program = parse(source);
      const parameters = programParameters(program);
      programs.set(parameters.join(), program);
      return parameters;
    },
    program(parameters) {
      const program = programs.get(parameters.join());
      if (program !== undefined) return program;
      throw new UserError({
        message: `the source of program ${(parameters[0] ?? 0).toString(16)} is missing`,
        hint: "restore the run's evaluations.jsonl from a copy",
      });
    },
  };
}
