import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { createProjection } from '../../src/policies/policy.js';
import { box, withSpaces } from '../support/fixed-environment.js';

const linear = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;

/** A number of weights, and a rank of at most that. */
const shapes = fc
  .integer({ min: 1, max: 60 })
  .chain((weights) =>
    fc.record({ weights: fc.constant(weights), rank: fc.integer({ min: 1, max: weights }), seed: fc.nat() }),
  );

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
/** Largest entry of |BᵀB − I|. */
function deviationFromOrthonormal(basis: readonly (readonly number[])[]): number {
  const columns = basis[0]!.map((_, j) => basis.map((row) => row[j]!));
  return Math.max(
    ...columns.flatMap((a, j) => columns.map((b, k) => Math.abs(dot(a, b) - (j === k ? 1 : 0)))),
  );
}

describe('a projection', () => {
  it('has a basis of orthonormal columns', () => {
    fc.assert(
      fc.property(shapes, ({ weights, ...config }) => {
        const { basis } = createProjection(config, weights);
        expect(basis).toHaveLength(weights);
        expect(deviationFromOrthonormal(basis)).toBeLessThan(1e-12);
        // The diagonal of R is positive.
        const random = createGenerator(config.seed);
        const drawn = basis.map((row) => row.map(() => random.normal()));
        for (let j = 0; j < config.rank; j++)
          expect(basis.reduce((sum, row, i) => sum + row[j]! * drawn[i]![j]!, 0)).toBeGreaterThan(0);
      }),
    );
  });

  it('is the same for the same seed and, for two or more weights, different for another seed', () => {
    fc.assert(
      fc.property(shapes, ({ weights, rank, seed }) => {
        expect(createProjection({ rank, seed }, weights)).toEqual(createProjection({ rank, seed }, weights));
        fc.pre(weights > 1);
        expect(createProjection({ rank, seed: seed + 1 }, weights).basis).not.toEqual(
          createProjection({ rank, seed }, weights).basis,
        );
      }),
    );
  });
});

describe('a projected linear policy', () => {
  const walker = withSpaces(box(17), box(6));
  const config = { ...linear, projection: { rank: 20, seed: 3 } };

  it('has as many parameters as its rank, named as coordinates instead of weights', () => {
    const { parameters, description } = createPolicyFamily(config, walker);
    expect(parameters.count).toBe(20);
    expect(parameters.names?.[4]).toBe('coordinate 4 of the weights');
    expect(description).toMatchObject({ kind: 'linear', projection: { rank: 20, seed: 3 } });
  });

  it('acts like the unprojected policy with the weights √(n / rank) · B z', () => {
    const [projected, plain] = [createPolicyFamily(config, walker), createPolicyFamily(linear, walker)];
    const { basis } = createProjection({ rank: 20, seed: 3 }, 108);
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -6, max: 6, noNaN: true }), { minLength: 20, maxLength: 20 }),
        fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 17, maxLength: 17 }),
        (z, observation) => {
          const weights = basis.map((row) => Math.sqrt(108 / 20) * dot(row, z));
          const expected = plain.build(weights)(observation) as readonly number[];
          const action = projected.build(z)(observation) as readonly number[];
          expect(action).toHaveLength(6);
          for (const [a, value] of action.entries()) expect(value).toBeCloseTo(expected[a]!, 8);
        },
      ),
    );
  });

  it('rejects a rank above the number of weights, and names that number', () => {
    expect(() => createPolicyFamily({ ...linear, projection: { rank: 109, seed: 0 } }, walker)).toThrow(
      /policy\.projection\.rank: .*weights of this policy \(108\)[\s\S]*at most 108/,
    );
  });
});
