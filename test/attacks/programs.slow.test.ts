import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Action, EnvironmentSpec, Observation } from '../../src/environments/environment.js';
import { type ActingProgram, ProgramFault } from '../../src/policies/program/program.js';
import { openSandbox, type Sandbox } from '../../src/policies/program/sandbox.js';
import { hostilePrograms, openProgramAttacks } from './hostile-programs.js';

describe('hostile programs', async () => {
  const attacks = await openProgramAttacks();

  it('number more than 400 and are all different', () => {
    expect(hostilePrograms.length).toBeGreaterThan(400);
    expect(new Set(hostilePrograms.map(({ source }) => source)).size).toBe(hostilePrograms.length);
  });

  it("end in an action or a single fault, and don't affect the next program", () => {
    const wrong = hostilePrograms.flatMap((program) => {
      const fault = attacks.attack(program);
      return fault === undefined ? [] : [`${fault}: ${program.source.slice(0, 200)}`];
    });
    expect(wrong).toEqual([]);
  });

  it('end the same way when run in reverse order', async () => {
    const forward = await attacks.outcomes(hostilePrograms);
    const backward = await attacks.outcomes(hostilePrograms.toReversed());
    const unlike = hostilePrograms.filter((program) => forward.get(program) !== backward.get(program));
    expect(
      unlike.map((program) => [program.source.slice(0, 100), forward.get(program), backward.get(program)]),
    ).toEqual([]);
  });
});

it('the attacks find the holes in a leaky sandbox', async () => {
  const attacks = await openProgramAttacks(leaky);
  const found = (statement: string) =>
    attacks.attack({ source: `function act() { ${statement}; return 0; }`, expected: 0 });
  expect(found('return 0')).toBeUndefined();
  expect(found('return typeof Date === "undefined" ? 0 : 1')).toMatch('instead of 0');
  expect(found('return 2')).toMatch('passed [2,2,2]');
  expect(found('throw "\\u001b"')).toMatch('the reason');
  expect(found('JSON.stringify = () => "x"')).toMatch('an innocent program changed');
});

/** Plays programs in one context of Node's, which they can change; knows the first environment only. */
async function leaky(environment: EnvironmentSpec): Promise<Sandbox> {
  if (environment.id !== 'CartPole-v1') return openSandbox(environment);
  const context = createContext({});
  const build = (source: string): ActingProgram => {
    const forEpisode = (): ((observation: Observation) => Action) => {
      const random = createGenerator(0);
      const made = runInContext(
        `((random) => { Math.random = random; ${source}\nreturn act; })`,
        context,
      ) as (random: () => number) => (...given: readonly unknown[]) => Action;
      const act = made(() => random.random());
      const memory = {};
      return (observation) => {
        try {
          return act(observation, memory, { gain: 2 });
        } catch (error) {
          throw new ProgramFault({ reason: `threw ${String(error)}` });
        }
      };
    };
    return Object.assign((observation: Observation) => forEpisode()(observation), { forEpisode });
  };
  return { build };
}
