import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/random/generator.js';
import {
  interquartileMean,
  mean,
  meanInterval95,
  normalTail,
  shareInterval95,
  standardDeviation,
  tQuantile975,
} from '../../src/statistics/descriptive.js';

describe('statistics', () => {
  it('computes mean and sample standard deviation', () => {
    expect(mean([1, 2, 3, 6])).toBe(3);
    expect(standardDeviation([1, 2, 3, 6])).toBeCloseTo(2.1602469, 6);
    expect(standardDeviation([5])).toBe(0);
  });

  it('weights the outer items of the interquartile mean by their share', () => {
    expect(interquartileMean([1, 2, 3, 100])).toBe(2.5);
    // scipy.stats.trim_mean([0..9], 0.25) drops two and two; the weighted form takes half of items 2 and 7.
    expect(interquartileMean([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).toBeCloseTo(
      (0.5 * 2 + 3 + 4 + 5 + 6 + 0.5 * 7) / 5,
      12,
    );
    expect(interquartileMean([7])).toBe(7);
  });

  it('has the quantiles of Student’s t (scipy.stats.t.ppf)', () => {
    expect(tQuantile975(1)).toBeCloseTo(12.706204736432095, 6);
    expect(tQuantile975(19)).toBeCloseTo(2.093024054408263, 6);
    expect(tQuantile975(40)).toBeCloseTo(2.0210753903062737, 5);
    expect(tQuantile975(99)).toBeCloseTo(1.9842169515086827, 6);
    expect(tQuantile975(5000)).toBeCloseTo(1.96043865, 6);
  });

  it('covers the true mean at its nominal rate', () => {
    const random = createGenerator(1);
    let covered = 0;
    const trials = 4000;
    for (let trial = 0; trial < trials; trial++) {
      const [low, high] = meanInterval95(Array.from({ length: 8 }, () => random.normal(3, 2)));
      if (low <= 3 && 3 <= high) covered++;
    }
    // The standard error of the rate is 0.34 %.
    expect(Math.abs(covered / trials - 0.95)).toBeLessThan(0.012);
  });

  it('has the tail of the normal distribution (scipy.stats.norm.sf)', () => {
    expect(normalTail(0)).toBeCloseTo(0.5, 6);
    expect(normalTail(1.959963984540054)).toBeCloseTo(0.025, 6);
    expect(normalTail(-1)).toBeCloseTo(0.8413447460685429, 6);
    expect(normalTail(4)).toBeCloseTo(3.167124183311986e-5, 7);
  });

  it('has the exact interval of a share (scipy.stats.binomtest(…).proportion_ci(method="exact"))', () => {
    const interval = (successes: number, trials: number) =>
      shareInterval95(successes, trials).map((end) => Number(end.toFixed(5)));
    expect(interval(7, 10)).toEqual([0.34755, 0.93326]);
    expect(interval(0, 10)).toEqual([0, 0.3085]);
    expect(interval(5, 5)).toEqual([0.47818, 1]);
    expect(interval(300, 500)).toEqual([0.55557, 0.64324]);
    expect(shareInterval95(0, 0)).toEqual([0, 1]);
    // A tie belongs to neither side: the interval spans both readings.
    expect(shareInterval95(7.5, 10)).toEqual([shareInterval95(7, 10)[0], shareInterval95(8, 10)[1]]);
  });
});
