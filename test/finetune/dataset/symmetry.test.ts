import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  drawSymmetry,
  type Moved,
  type Symmetry,
  transformed,
} from '../../../finetune/dataset/augmentation.js';
import type { Action, EnvironmentSpec, Observation, Space } from '../../../src/environments/environment.js';
import { createPolicyFamily } from '../../../src/policies/families.js';
import { type PolicyFamily, project } from '../../../src/policies/policy.js';
import type { PolicyConfig } from '../../../src/policies/settings.js';
import { createGenerator } from '../../../src/random/generator.js';

const box = (size: number): Space => ({
  kind: 'box',
  low: Array.from({ length: size }, () => -1),
  high: Array.from({ length: size }, () => 1),
});
const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const table = { kind: 'q-table', form: 'actions', low: -6, high: 6, decimals: 1 } as const;

function familyOf(policy: PolicyConfig, observationSpace: Space, actionSpace: Space): PolicyFamily {
  return createPolicyFamily(policy, { id: 'any', observationSpace, actionSpace } as EnvironmentSpec);
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const sizes = fc.integer({ min: 1, max: 5 });
const move = (values: readonly number[], places: readonly Moved[]) =>
  places.map(({ from, sign }) => sign * values[from]!);

type Kind<K> = Extract<Symmetry, { kind: K }>;

describe('a symmetry of linear policies', () => {
  it('preserves continuous actions, up to their order and signs', () => {
    fc.assert(
      fc.property(seeds, sizes, sizes, fc.boolean(), (seed, observations, outputs, bias) => {
        const random = createGenerator(seed);
        const family = familyOf({ ...linear, bias }, box(observations), box(outputs));
        const symmetry = drawSymmetry(family, random) as Kind<'linear'>;
        const parameters = family.initial(random);
        const moved = transformed(parameters, symmetry, family);
        const observation = Array.from({ length: observations }, () => random.normal());
        const action = family.build(parameters)(observation) as readonly number[];
        const other = family.build(moved)(move(observation, symmetry.observations)) as readonly number[];
        move(action, symmetry.outputs).forEach((value, a) => {
          expect(other[a]).toBeCloseTo(value, 9);
        });
        expect(moved.some((value) => Object.is(value, -0))).toBe(false);
      }),
    );
  });

  it('preserves the discrete action, up to relabelling', () => {
    fc.assert(
      fc.property(seeds, sizes, fc.integer({ min: 2, max: 5 }), (seed, observations, n) => {
        const random = createGenerator(seed);
        const family = familyOf({ ...linear, bias: true }, box(observations), {
          kind: 'discrete',
          n,
          start: 3,
        });
        const symmetry = drawSymmetry(family, random) as Kind<'linear'>;
        expect(symmetry.outputs.every(({ sign }) => sign === 1)).toBe(true);
        const parameters = Array.from({ length: (observations + 1) * n }, () => random.uniform(-6, 6));
        const moved = transformed(parameters, symmetry, family);
        const observation = Array.from({ length: observations }, () => random.normal());
        const action = family.build(parameters)(observation) as number;
        const other = family.build(moved)(move(observation, symmetry.observations)) as number;
        expect(symmetry.outputs[other - 3]!.from).toBe(action - 3);
      }),
    );
  });

  it('flips no sign if the range of parameters is not symmetric around 0', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const family = familyOf({ ...linear, low: -1, high: 6 }, box(4), box(3));
        const { observations, outputs } = drawSymmetry(family, createGenerator(seed)) as Kind<'linear'>;
        expect([...observations, ...outputs].every(({ sign }) => sign === 1)).toBe(true);
      }),
    );
  });

  it('reaches all 48 signed permutations of a landscape’s three coordinates', () => {
    const family = familyOf({ ...linear, bias: false }, box(1), box(3));
    const images = new Set<string>();
    for (let seed = 0; seed < 1000; seed++)
      images.add(transformed([1, 2, 3], drawSymmetry(family, createGenerator(seed)), family).join(' '));
    expect(images.size).toBe(6 * 8);
  });

  it('preserves the weights of a projected policy, in another basis of the same subspace', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const random = createGenerator(seed);
        const family = familyOf({ ...linear, projection: { rank: 3, seed: 1 } }, box(4), box(2));
        const symmetry = drawSymmetry(family, random) as Kind<'projected'>;
        const { projection } = family.description as { projection: Parameters<typeof project>[0] };
        const basis = projection.basis.map((row) => move(row, symmetry.coordinates));
        const parameters = family.initial(random);
        const weights = project({ ...projection, basis }, transformed(parameters, symmetry, family));
        project(projection, parameters).forEach((weight, i) => {
          expect(weights[i]).toBeCloseTo(weight, 9);
        });
      }),
    );
  });
});

describe('a symmetry of tables', () => {
  const acts = (family: PolicyFamily, parameters: readonly number[], state: number): Action =>
    family.build(parameters)(state as Observation);

  it('preserves the action in each state, up to relabelling of states and actions', () => {
    for (const form of ['actions', 'values'] as const) {
      fc.assert(
        fc.property(seeds, sizes, fc.integer({ min: 2, max: 5 }), (seed, states, n) => {
          const random = createGenerator(seed);
          const action: Space = { kind: 'discrete', n, start: 1 };
          const family = familyOf({ ...table, form }, { kind: 'discrete', n: states }, action);
          const symmetry = drawSymmetry(family, random) as Kind<'table'>;
          const { count, low, high } = family.parameters;
          const parameters =
            form === 'actions'
              ? family.initial(random)
              : Array.from({ length: count }, () => random.uniform(low, high));
          const moved = transformed(parameters, symmetry, family);
          for (const [state, from] of symmetry.states.entries()) {
            const other = acts(family, moved, state) as number;
            expect(symmetry.actions[other - 1]! + 1).toBe(acts(family, parameters, from));
          }
        }),
      );
    }
  });
});
