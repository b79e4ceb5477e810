import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createValueGrid } from '../../src/proposers/moves.js';

describe('the value grid', () => {
  it('maps any number to a nearby value with the decimals of the spec', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -100, max: 100, noNaN: true }),
        fc.double({ min: 0.5, max: 50, noNaN: true }),
        fc.integer({ min: 1, max: 6 }),
        fc.double({ min: -200, max: 200, noNaN: true }),
        (low, width, decimals, x) => {
          const grid = createValueGrid({ count: 1, kind: 'float', low, high: low + width, decimals });
          const value = grid.value(grid.index(x));
          expect(Number(value.toFixed(decimals))).toBe(value);
          expect(value).toBeGreaterThanOrEqual(low - 1e-6);
          expect(value).toBeLessThanOrEqual(low + width + 1e-6);
          const clamped = Math.min(Math.max(x, low), low + width);
          expect(Math.abs(value - clamped)).toBeLessThanOrEqual(grid.step * 1.01);
        },
      ),
    );
  });

  it('includes its ends despite rounding errors', () => {
    const grid = createValueGrid({ count: 1, kind: 'float', low: -0.3, high: 0.3, decimals: 1 });
    expect(Array.from({ length: grid.size }, (_, i) => grid.value(i))).toEqual([
      -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3,
    ]);
  });

  it('contains only the choices if the spec lists them', () => {
    const grid = createValueGrid({
      count: 1,
      kind: 'integer',
      low: -4,
      high: 9,
      decimals: 0,
      choices: [9, -4, 1, 3],
    });
    expect([grid.size, grid.step]).toEqual([4, 2]);
    expect([-100, -2, -1, 2.1, 5.9, 6.1, 100].map((x) => grid.value(grid.index(x)))).toEqual([
      -4, -4, 1, 3, 3, 9, 9,
    ]);
  });
});
