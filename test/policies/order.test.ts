import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { linearWeights } from '../../src/policies/policy.js';
import type { LinearOrder } from '../../src/policies/settings.js';
import { box, withSpaces } from '../support/fixed-environment.js';

const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const environment = withSpaces(box(2), { kind: 'discrete', n: 3 });
const familyOf = (order?: LinearOrder) =>
  createPolicyFamily({ ...linear, ...(order && { order }) }, environment);
const count = 9;
const vector = Array.from({ length: count }, (_, i) => ((i * 7) % 11) - 5);

describe('the parameter order', () => {
  it.each([
    ['columns', [0, 3, 6, 1, 4, 7, 2, 5, 8]],
    ['bias-first', [3, 4, 5, 6, 7, 8, 0, 1, 2]],
    ['rows', [0, 1, 2, 3, 4, 5, 6, 7, 8]],
  ] as const)('%s gives each weight and its name the expected place', (order, places) => {
    const { description, parameters } = familyOf(order);
    if (description.kind !== 'linear') throw new Error('no linear policy');
    expect(linearWeights(description, vector)).toEqual(places.map((place) => vector[place]));
    const names = familyOf().parameters.names!;
    expect(places.map((place) => parameters.names![place])).toEqual(names);
  });

  it.each(['columns', 'bias-first', { shuffled: 4 }] as const)(
    '%o gives the same policy for the same weights',
    (order) => {
      const [usual, other] = [familyOf(), familyOf(order)];
      if (other.description.kind !== 'linear') throw new Error('no linear policy');
      const places = other.description.places!;
      expect([...places].sort((a, b) => a - b)).toEqual(vector.map((_, i) => i));
      const moved = [...vector];
      for (const [weight, place] of places.entries()) moved[place] = vector[weight]!;
      for (const observation of [
        [1, 0],
        [0, 1],
        [-2, 0.5],
        [0.3, -4],
      ])
        expect(other.build(moved)(observation)).toBe(usual.build(vector)(observation));
    },
  );

  it('shuffled depends only on its seed', () => {
    const namesOf = (shuffled: number) => familyOf({ shuffled }).parameters.names;
    expect(namesOf(1)).toEqual(namesOf(1));
    expect(namesOf(1)).not.toEqual(namesOf(2));
  });

  it('is refused together with a projection', () => {
    const make = () =>
      createPolicyFamily({ ...linear, order: 'columns', projection: { rank: 3, seed: 0 } }, environment);
    expect(make).toThrow(UserError);
    expect(make).toThrow(/^policy\.order: /);
  });
});
