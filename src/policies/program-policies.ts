/** Policies that are programs. They run in a sandbox, in a thread that can be killed. */
import { EnvironmentError } from '../base/environment-error.js';
import { UserError } from '../base/errors.js';
import { observationNames } from '../environments/catalogue/observation-names.js';
import type { Action, EnvironmentSpec, Observation } from '../environments/environment.js';
import { ModuleThread } from '../modules/module-thread.js';
import { hostsModules } from '../modules/pulse.js';
import { randomProgram } from '../programs/grammar.js';
import { createProgramLibrary } from '../programs/library.js';
import { killedFault, programSeconds } from '../programs/program.js';
import { openSandbox } from '../programs/sandbox.js';
import { type Policy, type PolicyFamily, programsOf } from './policy.js';

/** Programs that can be parsed, displayed and drawn at random, but not run. */
export function programPolicies(environment: EnvironmentSpec): PolicyFamily {
  const programs = createProgramLibrary(
    environment.actionSpace,
    observationNames(environment).filter((name) => name !== undefined),
  );
  return {
    parameters: {
      ...{ count: 1, kind: 'float', decimals: 6 },
      ...{ low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY },
    },
    description: { kind: 'program', programs },
    build() {
      throw new UserError({ message: 'programs run only in a sandbox', remedy: 'use openPolicyFamily' });
    },
    initial: (random) => programs.add(randomProgram(environment, random)),
  };
}

/** Programs that run in a sandbox after `prepare`: in this thread if it can be killed, otherwise in a separate one. */
export function openProgramPolicies(environment: EnvironmentSpec): PolicyFamily {
  const family = programPolicies(environment);
  const programs = programsOf(family)!;
  const open = async () =>
    hostsModules()
      ? { ...(await openSandbox(environment)), ended: false, close: undefined }
      : openThread(environment);
  let sandbox: Awaited<ReturnType<typeof open>> | undefined;
  return {
    ...family,
    build(parameters) {
      if (sandbox === undefined) throw new Error('the sandbox must be prepared before programs are built');
      return sandbox.build(programs.program(parameters).source);
    },
    async prepare() {
      if (sandbox === undefined || sandbox.ended) sandbox = await open();
    },
    close() {
      sandbox?.close?.();
      sandbox = undefined;
    },
  };
}

type Start = (source: string, seed: number) => (observation: Observation) => Action;

/** Opens a sandbox in a separate thread. Its policies block this thread until they return. */
async function openThread({ id, observationSpace, actionSpace, words }: EnvironmentSpec) {
  const thread = new ModuleThread();
  const setting = { origin: 'the program', seconds: programSeconds, later: false };
  const load = { path: { own: 'programs/host' }, as: 'helpers', field: 'policy' } as const;
  const { create } = await thread.load(load, setting);
  const { build } = (await create({ id, observationSpace, actionSpace, words }, 'policy')) as {
    build: Start;
  };
  const killed = <T>(call: () => T, observation?: Observation): T => {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof EnvironmentError)) throw error;
      throw killedFault(observation);
    }
  };
  return {
    get ended() {
      return thread.ended;
    },
    build(source: string): Policy {
      const start = (seed: number): Policy => {
        const act = killed(() => build(source, seed));
        return (observation) => killed(() => act(observation), observation);
      };
      return Object.assign(start(0), { forEpisode: start });
    },
    close: () => thread.close(),
  };
}
