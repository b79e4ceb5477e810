import { describe, expect, it } from 'vitest';
import { argmax, interquartileMean, standardDeviation } from '../../src/statistics/descriptive.js';

describe('descriptive statistics', () => {
  it('include the sample standard deviation and the index of the first maximum', () => {
    expect(standardDeviation([1, 2, 3, 6])).toBeCloseTo(2.1602469, 6);
    expect([[5], [4, 6]].map((few) => standardDeviation(few))).toEqual([0, Math.SQRT2]);
    expect(argmax([1, 2, 2])).toBe(1);
  });

  it('count the outermost items of an interquartile mean fractionally', () => {
    expect(interquartileMean([1, 2, 3, 100])).toBe(2.5);
    // scipy.stats.trim_mean([0..9], 0.25) drops two and two; the weighted form takes half of items 2 and 7.
    expect(interquartileMean([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).toBeCloseTo(
      (0.5 * 2 + 3 + 4 + 5 + 6 + 0.5 * 7) / 5,
      12,
    );
    expect(interquartileMean([7])).toBe(7);
  });
});
