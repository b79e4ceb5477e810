/** Policies that are programs. They run in a sandbox. */
import { UserError } from '../base/errors.js';
import { observationNames } from '../environments/catalogue/observation-names.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { type PolicyFamily, programsOf } from './policy.js';
import { randomProgram } from './program/grammar.js';
import { createProgramLibrary } from './program/library.js';
import { openSandbox, type Sandbox } from './program/sandbox.js';

/** Creates a family of programs that can be parsed, displayed and drawn at random, but not run. */
export function programPolicies(environment: EnvironmentSpec): PolicyFamily {
  const programs = createProgramLibrary(
    environment.actionSpace,
    observationNames(environment).filter((name) => name !== undefined),
  );
  return {
    parameters: {
      count: 1,
      kind: 'float',
      decimals: 6,
      low: Number.NEGATIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
    },
    description: { kind: 'program', programs },
    build() {
      throw new UserError({ message: 'programs run only in a sandbox', hint: 'use openPolicyFamily' });
    },
    initial: (random) => programs.add(randomProgram(environment, random)),
  };
}

/** Creates a family of programs that run in a sandbox after `prepare`. */
export function openProgramPolicies(environment: EnvironmentSpec): PolicyFamily {
  const family = programPolicies(environment);
  const programs = programsOf(family)!;
  let sandbox: Sandbox | undefined;
  return {
    ...family,
    build(parameters) {
      if (sandbox === undefined) throw new Error('the sandbox must be prepared before programs are built');
      return sandbox.build(programs.program(parameters).source);
    },
    async prepare() {
      sandbox ??= await openSandbox(environment);
    },
  };
}
