import { describe, expect, it } from 'vitest';
import { interquartileMean, mean, standardDeviation } from '../../src/statistics/descriptive.js';

describe('statistics', () => {
  it('include the mean and the sample standard deviation', () => {
    expect(mean([1, 2, 3, 6])).toBe(3);
    expect(standardDeviation([1, 2, 3, 6])).toBeCloseTo(2.1602469, 6);
    expect(standardDeviation([5])).toBe(0);
  });

  it('weight the outer items of the interquartile mean by their share', () => {
    expect(interquartileMean([1, 2, 3, 100])).toBe(2.5);
    // scipy.stats.trim_mean([0..9], 0.25) drops two and two; the weighted form takes half of items 2 and 7.
    expect(interquartileMean([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).toBeCloseTo(
      (0.5 * 2 + 3 + 4 + 5 + 6 + 0.5 * 7) / 5,
      12,
    );
    expect(interquartileMean([7])).toBe(7);
  });
});
