import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParameterSpec } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import { movedAway, nearestTried } from '../../src/search/moves.js';

const box: ParameterSpec = { count: 4, kind: 'float', low: -6, high: 6, decimals: 1 };
const table: ParameterSpec = {
  count: 8,
  kind: 'integer',
  low: 0,
  high: 3,
  decimals: 0,
  choices: [0, 1, 2, 3],
};
const at = (...values: number[]) => ({ parameters: values });

describe('distance', () => {
  it('is the root mean square of the differences, as a share of the range', () => {
    const nearest = nearestTried(
      [0, 0, 0, 0],
      [at(6, 6, 6, 6), at(0, 0, 0, 6), at(1.2, -1.2, 1.2, 1.2)],
      box,
    );
    expect(nearest?.tried.parameters).toEqual([1.2, -1.2, 1.2, 1.2]);
    expect(nearest?.distance).toBeCloseTo(0.1);
    expect(nearestTried([6, 6, 6, 6], [at(-6, -6, -6, -6)], box)?.distance).toBe(1);
    expect(nearestTried([0, 0, 0, 0], [], box)).toBeUndefined();
  });

  it('of a table is the share of entries that differ', () => {
    const entries = [0, 1, 2, 3, 0, 1, 2, 3];
    expect(nearestTried(entries, [at(3, 1, 2, 3, 0, 1, 2, 0)], table)?.distance).toBe(0.25);
  });
});

it('movedAway moves proposals far enough, to allowed values, and is reproducible for a seed', () => {
  const draws = fc.tuple(
    fc.constantFrom(box, table),
    fc.integer({ min: 0, max: 1e6 }),
    fc.double({ min: 0.01, max: 0.3, noNaN: true }),
  );
  fc.assert(
    fc.property(draws, ([spec, seed, least]) => {
      const random = createGenerator(seed);
      const draw = () =>
        Array.from({ length: spec.count }, () =>
          spec === table ? random.integers(0, 4) : random.integers(-60, 61) / 10,
        );
      const tried = Array.from({ length: 5 }, () => ({ parameters: draw() }));
      const move = () => movedAway(tried[2]!.parameters, tried, spec, least, createGenerator(seed));
      const moved = move();
      expect(nearestTried(moved, tried, spec)!.distance).toBeGreaterThanOrEqual(least);
      for (const value of moved) {
        expect(value).toBeGreaterThanOrEqual(spec.low);
        expect(value).toBeLessThanOrEqual(spec.high);
        expect(Number(value.toFixed(spec.decimals))).toBe(value);
      }
      expect(move()).toEqual(moved);
    }),
    { numRuns: 100 },
  );
});

it('movedAway goes as far as it can if the box is full', () => {
  const narrow: ParameterSpec = { count: 1, kind: 'float', low: 0, high: 1, decimals: 2 };
  const tried = [0, 0.25, 0.5, 0.75, 1].map((value) => at(value));
  const moved = movedAway([0.5], tried, narrow, 0.4, createGenerator(1));
  expect(nearestTried(moved, tried, narrow)!.distance).toBeGreaterThan(0.1);
});
