import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Environment } from '../../src/environments/environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import type { PolicyFamily } from '../../src/policies/policy.js';
import type { MlpConfig, QTableConfig } from '../../src/policies/settings.js';
import { box, discrete, withSpaces } from '../support/fixed-environment.js';

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

/** What holds for every family: the contract of `PolicyFamily`. */
const families: readonly (readonly [string, PolicyFamily])[] = [
  ['linear, discrete', createPolicyFamily(linear, withSpaces(box(4), discrete(2)))],
  ['linear, continuous, no bias', createPolicyFamily({ ...linear, bias: false }, withSpaces(box(3), box(2)))],
  ['linear, whole numbers', createPolicyFamily({ ...linear, decimals: 0 }, withSpaces(box(2), discrete(3)))],
  [
    'linear, in a random subspace',
    createPolicyFamily({ ...linear, projection: { rank: 5, seed: 0 } }, withSpaces(box(4), discrete(3))),
  ],
  ['network, discrete', createPolicyFamily(network, withSpaces(box(4), discrete(2)))],
  [
    'network of two layers, continuous',
    createPolicyFamily({ ...network, hidden: [3, 2], activation: 'relu' }, withSpaces(box(2), box(2))),
  ],
  [
    'network, in a random subspace',
    createPolicyFamily({ ...network, projection: { rank: 5, seed: 0 } }, withSpaces(box(4), discrete(3))),
  ],
  ['table of actions', createPolicyFamily(table, withSpaces(discrete(16), discrete(4)))],
  ['table of actions from 1', createPolicyFamily(table, withSpaces(discrete(11), discrete(3, 1)))],
  ['table of values', createPolicyFamily({ ...table, form: 'values' }, withSpaces(discrete(6), discrete(3)))],
  [
    'discretised table of continuous actions',
    createPolicyFamily(
      { ...table, discretize: [{ low: -1, high: 1, bins: 3 }, { edges: [0] }], actions: [[-1], [0], [1]] },
      withSpaces(box(2), box(1)),
    ),
  ],
];

describe.each(families)('%s', (_name, family) => {
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

it("initial parameters lie on the grid of allowed values if the bounds don't", () => {
  const config = { ...linear, low: -0.25, high: 0.25 };
  const family = createPolicyFamily(config, withSpaces(box(4), discrete(2)));
  const random = createGenerator(1);
  for (let i = 0; i < 50; i++) {
    for (const value of family.initial(random)) expect([-0.2, -0.1, 0, 0.1, 0.2]).toContain(value);
  }
});

describe('linear policies', () => {
  it('read weights row by row (observation × action), then the biases', () => {
    const family = createPolicyFamily(linear, withSpaces(box(2), box(3)));
    const policy = family.build([1, 2, 3, 10, 20, 30, 0.1, 0.2, 0.3]);
    const action = policy([1, 2]) as readonly number[];
    for (const [a, expected] of [21.1, 42.2, 63.3].entries()) expect(action[a]).toBeCloseTo(expected, 12);
  });

  it('take the first action on ties, and number actions from `start`', () => {
    const family = createPolicyFamily({ ...linear, bias: false }, withSpaces(box(1), discrete(3, 5)));
    expect(family.build([0, 0, 0])([1])).toBe(5);
    expect(family.build([0, 1, 1])([1])).toBe(6);
    expect(family.build([0, 1, 2])([-1])).toBe(5);
  });

  it('do not clip continuous actions', () => {
    const family = createPolicyFamily(linear, withSpaces(box(1), box(1)));
    expect(family.build([6, 6])([100])).toEqual([606]);
  });

  it('agree with the matrix product for any weights', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -6, max: 6, noNaN: true }), { minLength: 15, maxLength: 15 }),
        fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 4, maxLength: 4 }),
        (vector, observation) => {
          const family = createPolicyFamily(linear, withSpaces(box(4), discrete(3)));
          const outputs = [0, 1, 2].map((a) =>
            observation.reduce((sum, x, i) => sum + x * vector[i * 3 + a]!, vector[12 + a]!),
          );
          expect(family.build(vector)(observation)).toBe(outputs.indexOf(Math.max(...outputs)));
        },
      ),
    );
  });

  it('refuse a tuple action space, and suggest a program', () => {
    const environment = withSpaces(box(2), { kind: 'tuple', spaces: [discrete(3), discrete(2)] });
    expect(() => createPolicyFamily(linear, environment)).toThrow(/tuple[\s\S]*policy\.kind: program/);
    expect(createPolicyFamily({ kind: 'program' }, environment).description.kind).toBe('program');
  });

  it('refuse discrete observations, and suggest a q-table', () => {
    expect(() => createPolicyFamily(linear, withSpaces(discrete(16), discrete(4)))).toThrow(
      /policy\.kind: .*16 discrete states[\s\S]*q-table/,
    );
  });
});

describe('Q-tables', () => {
  it('hold one action per state', () => {
    const policy = createPolicyFamily(table, withSpaces(discrete(3), discrete(4))).build([3, 0, 2]);
    expect([0, 1, 2].map(policy)).toEqual([3, 0, 2]);
  });

  it('can hold every action of a space that starts at 1', () => {
    const family = createPolicyFamily(table, withSpaces(discrete(2), discrete(3, 1)));
    expect(family.parameters.choices).toEqual([1, 2, 3]);
    expect([0, 1].map(family.build([3, 1]))).toEqual([3, 1]);
  });

  it('choose the action with the highest value, the first on ties', () => {
    const family = createPolicyFamily({ ...table, form: 'values' }, withSpaces(discrete(2), discrete(3)));
    expect(family.parameters.count).toBe(6);
    expect([0, 1].map(family.build([1, 5, 5, -1, -2, -0.5]))).toEqual([1, 2]);
  });

  it('index a tuple observation with its last part varying fastest', () => {
    const environment = withSpaces({ kind: 'tuple', spaces: [discrete(3), discrete(2)] }, discrete(6));
    const policy = createPolicyFamily(table, environment).build([0, 1, 2, 3, 4, 5]);
    expect(policy([0, 0])).toBe(0);
    expect(policy([0, 1])).toBe(1);
    expect(policy([2, 1])).toBe(5);
  });

  it('put continuous observations into half-open bins, and outliers into the outermost bins', () => {
    const environment = withSpaces(box(1), discrete(4));
    const config: QTableConfig = { ...table, discretize: [{ low: -1, high: 1, bins: 4 }] };
    const policy = createPolicyFamily(config, environment).build([0, 1, 2, 3]);
    const bins = [-99, -1, -0.51, -0.5, -0.01, 0, 0.49, 0.5, 1, 99].map((x) => policy([x]));
    expect(bins).toEqual([0, 0, 0, 1, 1, 2, 2, 3, 3, 3]);
  });

  it.each<readonly [string, QTableConfig, Environment, RegExp]>([
    [
      'continuous observations without bins',
      table,
      withSpaces(box(2), discrete(2)),
      /policy\.discretize: .*for 2 observation dimensions/,
    ],
    [
      'bins for too few dimensions',
      { ...table, discretize: [{ edges: [0] }] },
      withSpaces(box(2), discrete(2)),
      /for 2 observation dimensions/,
    ],
    [
      'continuous actions without a list',
      table,
      withSpaces(discrete(2), box(1)),
      /policy\.actions: .*continuous/,
    ],
    [
      'an action of the wrong length',
      { ...table, actions: [[1], [1, 2]] },
      withSpaces(discrete(2), box(1)),
      /policy\.actions: .*continuous[\s\S]*vectors of 1 number/,
    ],
    [
      'a list where actions are discrete',
      { ...table, actions: [[1]] },
      withSpaces(discrete(2), discrete(2)),
      /policy\.actions: .*already discrete/,
    ],
    [
      'a table beyond reason',
      { ...table, discretize: [{ low: 0, high: 1, bins: 30_000 }] },
      withSpaces(box(1), discrete(2)),
      /30000 parameters/,
    ],
  ])('refuse %s', (_name, config, environment, message) => {
    expect(() => createPolicyFamily(config, environment)).toThrow(message);
  });

  it('suggest a linear policy only if the observation is a vector', () => {
    const refused = (observation: Parameters<typeof withSpaces>[0]) => () =>
      createPolicyFamily(table, withSpaces(observation, box(1)));
    expect(refused({ kind: 'tuple', spaces: [discrete(3)] })).toThrow(/policy\.kind: linear/);
    expect(refused(discrete(2))).not.toThrow(/policy\.kind: linear/);
  });

  it('can bin discrete observations if there are too many for a table', () => {
    const create = (config: QTableConfig) =>
      createPolicyFamily(config, withSpaces(discrete(30_000), discrete(2)));
    expect(() => create(table)).toThrow(/group the states into bins with policy\.discretize/);
    const binned = create({ ...table, discretize: [{ low: 0, high: 30_000, bins: 10 }] });
    expect(binned.parameters.count).toBe(10);
    expect(binned.build([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])(3_000)).toBe(1);
  });
});
