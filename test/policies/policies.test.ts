import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Space } from '../../src/environments/environment.js';
import { createPolicyFamily, defaultPolicyConfig, openPolicyFamily } from '../../src/policies/families.js';
import { recordedPolicies } from '../../src/policies/module-policy.js';
import { policiesText } from '../../src/policies/policy.js';
import type { MlpConfig, PolicyConfig, QTableConfig } from '../../src/policies/settings.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';
import { box, discrete, withSpaces } from '../support/fixed-environment.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const network = {
  kind: 'mlp',
  hidden: [3],
  activation: 'tanh',
  low: -6,
  high: 6,
  decimals: 1,
} as const satisfies MlpConfig;
const table: QTableConfig = { kind: 'q-table', form: 'actions', low: -10, high: 10, decimals: 1 };

const projection = { rank: 5, seed: 0 };
const bins = [{ low: -1, high: 1, bins: 3 }, { edges: [0] }];

/** Tests the contract of `PolicyFamily` for every family. */
describe.each<readonly [string, PolicyConfig, Space, Space]>([
  ['linear, discrete', linear, box(4), discrete(2)],
  ['linear, continuous, no bias', { ...linear, bias: false }, box(3), box(2)],
  ['linear, whole numbers', { ...linear, decimals: 0 }, box(2), discrete(3)],
  ['linear, in a random subspace', { ...linear, projection }, box(4), discrete(3)],
  ['network, discrete', network, box(4), discrete(2)],
  ['network of two layers, continuous', { ...network, hidden: [3, 2], activation: 'relu' }, box(2), box(2)],
  ['network, in a random subspace', { ...network, projection }, box(4), discrete(3)],
  ['table of actions', table, discrete(16), discrete(4)],
  ['table of actions from 1', table, discrete(11), discrete(3, 1)],
  ['table of values', { ...table, form: 'values' }, discrete(6), discrete(3)],
  ['table of bins and vectors', { ...table, discretize: bins, actions: [[-1], [0], [1]] }, box(2), box(1)],
])('%s', (_name, config, observed, acted) => {
  const family = createPolicyFamily(config, withSpaces(observed, acted));
  const { parameters } = family;

  it('draws initial parameters within its own specification', () => {
    const random = createGenerator(3);
    for (let i = 0; i < 50; i++) {
      const vector = family.initial(random);
      expect(vector).toHaveLength(parameters.count);
      for (const value of vector) {
        expect(value).toBeGreaterThanOrEqual(parameters.low);
        expect(value).toBeLessThanOrEqual(parameters.high);
        expect(Number(value.toFixed(parameters.decimals))).toBe(value);
        if (parameters.choices !== undefined) expect(parameters.choices).toContain(value);
      }
    }
  });

  it('draws the same initial parameters for the same seed, and others for another seed', () => {
    expect(family.initial(createGenerator(5))).toEqual(family.initial(createGenerator(5)));
    expect(family.initial(createGenerator(5))).not.toEqual(family.initial(createGenerator(6)));
  });

  it('gives every parameter a unique name', () => {
    expect(parameters.names).toHaveLength(parameters.count);
    expect(new Set(parameters.names).size).toBe(parameters.count);
  });
});

it.each([0.025, 0.02])('initial parameters up to %s lie on the grid of allowed values', (high) => {
  const config = { ...linear, low: -high, high, decimals: 2 };
  const family = createPolicyFamily(config, withSpaces(box(4), discrete(2)));
  const random = createGenerator(1);
  const drawn = Array.from({ length: 50 }, () => family.initial(random)).flat();
  expect(new Set(drawn)).toEqual(new Set([-0.02, -0.01, 0, 0.01, 0.02]));
});

it('initial weights have a larger standard deviation if the policy has a bias', () => {
  for (const [bias, deviation] of [[true, 3] as const, [false, Math.sqrt(3)] as const]) {
    const config = { ...linear, bias, low: 0, high: 12 };
    const drawn = createPolicyFamily(config, withSpaces(box(999), discrete(2))).initial(createGenerator(1));
    expect(Math.abs(mean(drawn) - 6)).toBeLessThan(0.3);
    expect(Math.abs(standardDeviation(drawn) - deviation)).toBeLessThan(0.2);
  }
});

it('the default policy is a table for discrete observations, otherwise linear', () => {
  expect(defaultPolicyConfig(withSpaces(discrete(4), discrete(2)))).toEqual(table);
  expect(defaultPolicyConfig(withSpaces(box(4), discrete(2)))).toEqual(linear);
});

it('the parameters and the build function of a module policy are checked', async () => {
  const path = join(temporaryDirectory(), 'own.mjs');
  writeFileSync(path, 'export default { create: ({ made }) => ({ build: () => () => 0, ...made }) };');
  const open = (given: object, more: object = {}) => {
    const made = { parameters: { count: 2, low: 0, high: 1, ...given }, ...more };
    return openPolicyFamily({ kind: 'module', path, options: { made } }, withSpaces(box(1), discrete(2)));
  };
  const given = { count: 2, low: 0, high: 1, decimals: 6, names: ['a', 'b'], choices: [0, 1] };
  expect((await open(given)).parameters).toEqual({ ...given, kind: 'float' });
  const whole = { count: 1, low: 0, high: 1, decimals: 0 };
  expect((await open(whole)).parameters).toEqual({ ...whole, kind: 'integer' });
  const family = await open({});
  expect([family.parameters.decimals, family.build([0, 1])([0]), policiesText(family)]).toEqual([
    1,
    0,
    '2 parameters',
  ]);
  for (const wrong of [
    { count: 0 },
    { decimals: 7 },
    { decimals: -1 },
    { choices: [1] },
    { low: 1 },
    { names: ['a'] },
  ])
    await expect(open(wrong)).rejects.toThrow(/parameters.* of the policy created by own\.mjs/);
  await expect(open({}, { build: 3 })).rejects.toThrow('must be a function');
  expect(recordedPolicies({ count: 3 }).parameters.count).toBe(3);
});

describe('linear policies', () => {
  it('read weights row by row (observation × action), then the biases, and do not clip actions', () => {
    const family = createPolicyFamily(linear, withSpaces(box(2), box(3)));
    const policy = family.build([1, 2, 3, 10, 20, 30, 0.1, 0.2, 0.3]);
    const action = policy([1, 2]) as readonly number[];
    for (const [a, expected] of [21.1, 42.2, 63.3].entries()) expect(action[a]).toBeCloseTo(expected, 12);
  });

  it('take the first action on ties, and number actions from `start`', () => {
    const family = createPolicyFamily({ ...linear, bias: false }, withSpaces(box(1), discrete(3, 5)));
    const act = (vector: readonly number[], x: number) => family.build(vector)([x]);
    expect([act([0, 0, 0], 1), act([0, 1, 1], 1), act([0, 1, 2], -1)]).toEqual([5, 6, 5]);
  });

  it('reject a tuple action space, and suggest a program', () => {
    const environment = withSpaces(box(2), { kind: 'tuple', spaces: [discrete(3), discrete(2)] });
    expect(() => createPolicyFamily(linear, environment)).toThrow(/tuple[\s\S]*policy\.kind: program/);
    const programs = createPolicyFamily({ kind: 'program' }, environment);
    expect([programs.parameters.count, policiesText(programs)]).toEqual([1, 'programs']);
  });

  it('reject discrete observations, as networks do, and suggest a q-table', () => {
    for (const [config, kind] of [[linear, 'a linear policy'] as const, [network, 'a network'] as const])
      expect(() => createPolicyFamily(config, withSpaces(discrete(16), discrete(4)))).toThrow(
        new RegExp(`policy\\.kind: .*${kind} needs .*16 discrete states[\\s\\S]*q-table`),
      );
  });
});

describe('Q-tables', () => {
  const acting = (...[vector, observed, acted, config = table]: [number[], Space, Space, QTableConfig?]) =>
    createPolicyFamily(config, withSpaces(observed, acted)).build(vector);

  it("hold one action per state, even in spaces that don't start at 0", () => {
    expect([0, 1, 2].map(acting([3, 0, 2], discrete(3), discrete(4)))).toEqual([3, 0, 2]);
    expect([5, 6, 7].map(acting([3, 1, 2], discrete(3, 5), discrete(3, 1)))).toEqual([3, 1, 2]);
    const { parameters } = createPolicyFamily(table, withSpaces(discrete(2), discrete(3, 1)));
    expect(parameters).toMatchObject({ kind: 'integer', decimals: 0, choices: [1, 2, 3] });
  });

  it('choose the action with the highest value, the first on ties', () => {
    const values = { ...table, form: 'values' } as const;
    const { parameters, description } = createPolicyFamily(values, withSpaces(discrete(2), discrete(3)));
    expect(parameters).toMatchObject({ count: 6, kind: 'float', decimals: 1 });
    const names = ['value of action 2 in state 0', 'value of action 0 in state 1'];
    expect(parameters.names!.slice(2, 4)).toEqual(names);
    expect(description).not.toHaveProperty('bins');
    expect([0, 1].map(acting([1, 5, 5, -1, -2, -0.5], discrete(2), discrete(3), values))).toEqual([1, 2]);
    const whole = createPolicyFamily({ ...values, decimals: 0 }, withSpaces(discrete(2), discrete(3)));
    expect(whole.parameters.kind).toBe('integer');
  });

  it('index a tuple observation with its last part varying fastest', () => {
    const pairs: Space = { kind: 'tuple', spaces: [discrete(3, 1), discrete(2)] };
    const policy = acting([0, 1, 2, 3, 4, 5], pairs, discrete(6));
    expect([policy([1, 0]), policy([1, 1]), policy([3, 1])]).toEqual([0, 1, 5]);
  });

  it('put continuous observations into half-open bins, and outliers into the outermost bins', () => {
    const config = { ...table, discretize: [{ low: -1, high: 1, bins: 4 }] };
    const policy = acting([0, 1, 2, 3], box(1), discrete(4), config);
    const bins = [-99, -1, -0.51, -0.5, -0.01, 0, 0.49, 0.5, 1, 99].map((x) => policy([x]));
    expect(bins).toEqual([0, 0, 0, 1, 1, 2, 2, 3, 3, 3]);
  });

  it.each<readonly [Partial<QTableConfig>, Space, Space, RegExp]>([
    [{}, box(2), discrete(2), /policy\.discretize: .*for 2 observation dimensions/],
    [{ discretize: [{ edges: [0] }] }, box(2), discrete(2), /for 2 observation dimensions/],
    // Continuous actions need a list of at least two, each of the right length.
    [{}, discrete(2), box(1), /policy\.actions: .*continuous/],
    [{ actions: [[1]] }, discrete(2), box(1), /e\.g\. \[\[-1],\[1]]/],
    [
      { actions: [[1], [1, 2]] },
      discrete(2),
      box(1),
      /policy\.actions: .*continuous[\s\S]*vectors of 1 number/,
    ],
    [{ actions: [[1]] }, discrete(2), discrete(2), /policy\.actions: .*already discrete/],
    [
      { discretize: [{ low: 0, high: 1, bins: 20_001 }] },
      box(1),
      discrete(2),
      /20001 parameters; at most 20000/,
    ],
    [{ form: 'values' }, discrete(7000), discrete(3), /21000 parameters/],
  ])('reject %j for observations %j and actions %j', (changes, observed, acted, message) => {
    expect(() => createPolicyFamily({ ...table, ...changes }, withSpaces(observed, acted))).toThrow(message);
  });

  it('lead to an error that suggests a linear policy for tuple observations, but not for discrete ones', () => {
    const refused = (observation: Parameters<typeof withSpaces>[0]) => () =>
      createPolicyFamily(table, withSpaces(observation, box(1)));
    expect(refused({ kind: 'tuple', spaces: [discrete(3)] })).toThrow(/policy\.kind: linear/);
    const two = { ...table, actions: [[-1], [1]] };
    expect(acting([1, 0], discrete(2), box(1), two)(0)).toEqual([1]);
    expect(refused(discrete(2))).not.toThrow(/policy\.kind: linear/);
  });

  it('can bin discrete observations if there are too many for a table', () => {
    const create = (config: QTableConfig) =>
      createPolicyFamily(config, withSpaces(discrete(30_000), discrete(2)));
    expect(() => create(table)).toThrow(/group the states into bins with policy\.discretize/);
    const binned = create({ ...table, discretize: [{ low: 0, high: 30_000, bins: 10 }] });
    const edges = [3000, 6000, 9000, 12_000, 15_000, 18_000, 21_000, 24_000, 27_000];
    expect(binned).toMatchObject({ parameters: { count: 10 }, description: { bins: [{ edges }] } });
    const most = create({ ...table, discretize: [{ low: 0, high: 1, bins: 20_000 }] });
    expect(most.parameters.count).toBe(20_000);
    expect(binned.build([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])(3_000)).toBe(1);
  });
});
