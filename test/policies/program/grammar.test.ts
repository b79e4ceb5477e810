import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { createGenerator, type RandomGenerator } from '../../../src/base/random/generator.js';
import {
  type Action,
  type EnvironmentSpec,
  type Observation,
  type Space,
  symmetricBox,
} from '../../../src/environments/environment.js';
import { randomProgram } from '../../../src/policies/program/grammar.js';
import { parseProgram, withConstants } from '../../../src/policies/program/source.js';
import { depthOf, parseTrees, spacesOf } from '../../../src/policies/program/tree.js';
import { crossover, mutate } from '../../../src/policies/program/variation.js';

const unbounded = Number.POSITIVE_INFINITY;
const boxObservation: Space = { kind: 'box', low: [-4.8, -unbounded, 0], high: [4.8, unbounded, 3.4e38] };
const task = (id: string, observationSpace: Space, actionSpace: Space): EnvironmentSpec => ({
  id,
  observationSpace,
  actionSpace,
});
const tasks = [
  task('cart', boxObservation, { kind: 'discrete', n: 2 }),
  task('shifted', boxObservation, { kind: 'discrete', n: 3, start: -1 }),
  task('torques', boxObservation, { kind: 'box', low: [-2, 1, -unbounded], high: [2, 3, unbounded] }),
  task('lake', { kind: 'discrete', n: 16 }, { kind: 'discrete', n: 4 }),
  task('prime', { kind: 'discrete', n: 2, start: 5 }, symmetricBox(2, 1)),
  task(
    'cards',
    {
      kind: 'tuple',
      spaces: [
        { kind: 'discrete', n: 32 },
        { kind: 'discrete', n: 2 },
      ],
    },
    {
      kind: 'tuple',
      spaces: [
        { kind: 'discrete', n: 2 },
        { kind: 'discrete', n: 3, start: 4 },
      ],
    },
  ),
];

/** Runs a program in this process; only for programs of the grammar. */
const run = (source: string) => {
  const { constants } = parseProgram(source, symmetricBox(1));
  const act = new Function(`${source}; return act;`)() as (...given: readonly unknown[]) => Action;
  const values = Object.fromEntries(constants.map(({ name, value }) => [name, value]));
  return (observation: Observation) => act(observation, {}, values);
};

function member(space: Space, random: RandomGenerator): Observation {
  switch (space.kind) {
    case 'discrete':
      return (space.start ?? 0) + random.integers(0, space.n);
    case 'tuple':
      return space.spaces.map((one) => member(one, random) as number);
    case 'box':
      return space.low.map(() =>
        random.choice([0, unbounded, -unbounded, Number.NaN, 1e308, random.normal()]),
      );
    case 'text':
      return '';
  }
}

function isMember(action: unknown, space: Space): boolean {
  if (space.kind === 'discrete') {
    const { n, start = 0 } = space;
    return Number.isInteger(action) && start <= (action as number) && (action as number) < start + n;
  }
  if (!Array.isArray(action)) return false;
  if (space.kind === 'tuple') return space.spaces.every((one, i) => isMember(action[i], one));
  if (space.kind === 'text') return false;
  return space.low.every(
    (low, i) => Number.isFinite(action[i]) && low <= action[i] && action[i] <= space.high[i]!,
  );
}

const drawn = (environment: EnvironmentSpec, count: number) =>
  Array.from({ length: count }, (_, seed) => randomProgram(environment, createGenerator(seed)));

/** Depth, form and actions of a program. */
function expectValid(source: string, environment: EnvironmentSpec, random: RandomGenerator): void {
  const trees = parseTrees(source, spacesOf(environment));
  expect(trees, source).toBeDefined();
  expect(Math.max(...trees!.map(depthOf))).toBeLessThanOrEqual(6);
  const act = run(source);
  for (let i = 0; i < 5; i++) {
    const action = act(member(environment.observationSpace, random));
    expect(isMember(action, environment.actionSpace), `${source}\n${action}`).toBe(true);
  }
}

describe.each(tasks)('programs for $id', (environment) => {
  const random = createGenerator(7);
  const programs = drawn(environment, 25);

  it('are valid, varied and reproducible', () => {
    for (const source of programs) expectValid(source, environment, random);
    expect(new Set(programs).size).toBeGreaterThan(15);
    expect(drawn(environment, 9)).toEqual(programs.slice(0, 9));
  });

  it('have constants of at most 3 significant digits, and use each of them', () => {
    for (const source of programs) {
      const { constants } = parseProgram(source, environment.actionSpace);
      for (const { value, name } of constants) {
        expect(Number(value.toPrecision(3))).toBe(value);
        expect(source).toContain(`constants.${name}`);
      }
    }
  });

  it('stay valid under mutation and crossover, and usually change', () => {
    let [a, changed] = [programs[0]!, 0];
    for (const other of programs) {
      const mutated = mutate(a, environment, random)!;
      const crossed = crossover(mutated, other, environment, random)!;
      expectValid(mutated, environment, random);
      expectValid(crossed, environment, random);
      changed += Number(mutated !== a) + Number(crossed !== mutated);
      a = crossed;
    }
    expect(changed).toBeGreaterThan(1.2 * programs.length);
  });

  // Programs for a grid have no constants.
  it.skipIf(environment.id === 'lake')('can be mutated after tuning', () => {
    const parsed = programs.map((one) => parseProgram(one, environment.actionSpace));
    const tunable = parsed.filter(({ constants }) => constants.length > 0);
    expect(tunable.length).toBeGreaterThan(5);
    let changed = 0;
    for (const program of tunable) {
      const tuned = withConstants(
        program,
        program.constants.map((_, i) => -1.23456 * (i + 1)),
      );
      const mutated = mutate(tuned, environment, random)!;
      expectValid(mutated, environment, random);
      changed += Number(mutated !== tuned);
    }
    expect(changed).toBeGreaterThan(0.6 * tunable.length);
  });
});

describe('the grammar', () => {
  it('uses the scale of bounded observations and the states of a grid', () => {
    const bounded = task('bounded', { kind: 'box', low: [100], high: [101] }, { kind: 'discrete', n: 2 });
    const close = drawn(bounded, 50).filter((source) => /: 10[01],? /.test(source));
    expect(close.length).toBeGreaterThan(10);
    const lake = drawn(tasks[3]!, 200).join('\n');
    for (const text of ['observation === 1', 'observation % 4 ===', 'Math.floor(observation / 4) ==='])
      expect(lake).toContain(text);
    expect(lake).not.toMatch(/observation (===|<) (1[6-9]|[2-9]\d)/);
  });

  it("doesn't mutate or cross programs that it can't generate", () => {
    const random = createGenerator(1);
    const own = randomProgram(tasks[0]!, random);
    for (const other of [
      'const act = () => 1;',
      'function act( {',
      own.replace('act(observation,', 'act( observation,'),
      `${own}// more\n`,
      randomProgram(tasks[2]!, random),
    ]) {
      expect(mutate(other, tasks[0]!, random)).toBeUndefined();
      expect(crossover(own, other, tasks[0]!, random)).toBeUndefined();
      expect(crossover(other, own, tasks[0]!, random)).toBeUndefined();
    }
    expect(mutate(own, tasks[0]!, random)).toBeDefined();
  });

  it('rejects text spaces', () => {
    const text = task('game', { kind: 'text' }, { kind: 'text' });
    expect(() => randomProgram(text, createGenerator(1))).toThrow(UserError);
  });
});
