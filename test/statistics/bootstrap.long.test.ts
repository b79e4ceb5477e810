import { describe, expect, it } from 'vitest';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import {
  interval95,
  meanInterval95,
  percentileInterval95,
  realLine,
} from '../../src/statistics/bootstrap.js';
import { interquartileMean, mean, median, standardDeviation } from '../../src/statistics/descriptive.js';
import { comparePairs } from '../../src/statistics/paired.js';
import { withVerdicts } from '../../src/statistics/tests.js';

const meanInterval = (values: readonly number[]) => interval95([{ values }])!;

/** Final returns of a pair of runs that share a seed: what the seed does to both, and what each does by itself. */
type DrawPair = (random: RandomGenerator) => readonly [number, number];

const kinds: Readonly<Record<string, DrawPair>> = {
  normal: (random) => {
    const shared = random.normal();
    return [shared + random.normal(0.3), shared + random.normal()];
  },
  // Returns with a long tail.
  skewed: (random) => {
    const shared = random.normal(0, 0.5);
    return [Math.exp(shared + random.normal(0.3, 0.8)), Math.exp(shared + random.normal(0, 0.8))];
  },
  // Solved or not.
  bimodal: (random) => [
    (random.random() < 0.6 ? 1 : 0) + random.normal(0, 0.05),
    (random.random() < 0.4 ? 1 : 0) + random.normal(0, 0.05),
  ],
};

const pairsOf = (draw: DrawPair, count: number, random: RandomGenerator) =>
  Array.from({ length: count }, () => draw(random));

/**
 * Share of trials with 10 pairs whose interval contains the true value. With so few trials, the standard error is 2 %, but the
 * draws are the same every time: with these seeds, plain percentile intervals contain it in at most 92 % of trials.
 */
function coverage(
  draw: DrawPair,
  truth: number,
  seed: number,
  interval: (pairs: readonly (readonly [number, number])[]) => readonly [number, number],
): number {
  const random = createGenerator(seed);
  const trials = 120;
  let covered = 0;
  for (let trial = 0; trial < trials; trial++) {
    const [low, high] = interval(pairsOf(draw, 10, random));
    if (low <= truth && truth <= high) covered++;
  }
  return covered / trials;
}

it('the interval of a policy allows for failures that 100 solved episodes would not show', () => {
  const solved = Array<number>(100).fill(500);
  const [low, high] = meanInterval95(solved, [0, 500], 'student')!;
  // One in forty samples of 100 shows no failure if 3.6 % of episodes fail.
  expect(low).toBeCloseTo(500 * 0.025 ** (1 / 100), 0);
  expect(high).toBe(500);
});

describe.each(Object.keys(kinds))('with ten pairs of %s runs, intervals cover', (kind) => {
  const draw = kinds[kind]!;
  const population = pairsOf(draw, 30_000, createGenerator(5));
  const first = (pairs: readonly (readonly [number, number])[]) => pairs.map(([a]) => a);

  it('the mean difference in about 95 % of trials', () => {
    const truth = mean(population.map(([a, b]) => a - b));
    const rate = coverage(draw, truth, 13, (pairs) => meanInterval(pairs.map(([a, b]) => a - b)));
    expect(rate).toBeGreaterThan(0.93);
    expect(rate).toBeLessThan(0.985);
  });

  it('the interquartile mean in about 95 % of trials', () => {
    const truth = interquartileMean(first(population));
    const rate = coverage(draw, truth, 11, (pairs) => percentileInterval95(first(pairs), 'iqm')!);
    expect(rate).toBeGreaterThan(0.93);
    expect(rate).toBeLessThan(0.985);
  });

  it('the median in more than 92 % of trials', () => {
    const truth = median(first(population));
    const rate = coverage(draw, truth, 11, (pairs) => percentileInterval95(first(pairs), 'median')!);
    expect(rate).toBeGreaterThan(0.92);
  });
});

/** Returns of a pair whose runs pile up at a bound of [1, 500], and the true difference. */
const piled: Readonly<Record<string, readonly [draw: DrawPair, truth: number]>> = {
  // One arm always has 402, the mean of the other.
  'a constant and four of five solved': [(random) => [402, random.random() < 0.2 ? 10 : 500], 0],
  'always solved and 500 minus a lognormal': [
    (random) => [500, Math.max(1, 500 - Math.exp(random.normal(0, 2)))],
    7.2,
  ],
  'both solved in nine of ten': [
    (random) => [random.random() < 0.1 ? 10 : 500, random.random() < 0.1 ? 10 : 500],
    0,
  ],
};

it.each(Object.entries(piled))(
  'six pairs rarely give a wrong interval or verdict: %s',
  (_, [draw, truth]) => {
    const random = createGenerator(29);
    let [covered, wrong] = [0, 0];
    for (let trial = 0; trial < 120; trial++) {
      const pairs = pairsOf(draw, 6, random);
      const found = comparePairs(
        pairs.map(([a]) => a),
        pairs.map(([, b]) => b),
        [1, 500],
      )!;
      const [low, high] = found.interval!;
      covered += Number(low <= truth && truth <= high);
      wrong += Number(truth === 0 && withVerdicts([found])[0]!.verdict !== 'no-evidence');
    }
    expect(covered).toBeGreaterThan(0.93 * 120);
    expect(wrong).toBeLessThan(0.05 * 120);
  },
);

describe('the interval over several strata', () => {
  const strata = [
    [1, 2, 3],
    [10, 20, 30, 40],
  ].map((values) => ({ values, weight: 1 / 2 }));

  it('is that of their weighted mean, and null if one of them has fewer than three values', () => {
    const [low, high] = interval95(strata)!;
    expect((low + high) / 2).toBeCloseTo(13.5, 9);
    // Welch: error √(1/3 + 1000/24) / 2, 3.05 degrees of freedom.
    expect((high - low) / 2).toBeCloseTo(3.1582 * 3.2404, 1);
    expect(interval95([...strata, { values: [7, 8], weight: 1 }])).toBeNull();
    expect([interval95([]), percentileInterval95([1, 2], 'iqm')]).toEqual([null, null]);
    // The tail is 0.41 %, and only 0.29 % of resamples contain six or seven zeros.
    expect(percentileInterval95([0, 0, 1, 1, 1, 1, 1], 'iqm')![0]).toBeCloseTo(1 / 14, 9);
  });
});

describe('intervals of a mean', () => {
  const values = [3, 9, 4, 7, 5, 8, 1, 6];

  it('shift and scale with the values, including hidden values at the bounds', () => {
    const moved = (value: number) => 100 - 2 * value;
    for (const [least, most] of [realLine.toReversed(), [-5, 20]] as [number, number][]) {
      const [low, high] = interval95([{ values, hidden: [least, most] }])!;
      const hidden = [moved(most), moved(least)] as const;
      const [movedLow, movedHigh] = interval95([{ values: values.map(moved), hidden }])!;
      expect(movedLow).toBeCloseTo(moved(high), 9);
      expect(movedHigh).toBeCloseTo(moved(low), 9);
    }
  });

  const mostly = (value: number, count: number) => Array<number>(count).fill(value);
  const halfWidth = (values: readonly number[], by?: 'student') => {
    const [low, high] = interval95([{ values }], by)!;
    return (high - low) / 2;
  };

  it("use the quantile of |t| over resamples, but Student's t for fewer than ten or nearly equal values", () => {
    const values = [...mostly(0, 6), 1, 1, 3, 0];
    const factor = (of: readonly number[], by?: 'student') =>
      (halfWidth(of, by) / standardDeviation(of)) * Math.sqrt(of.length);
    // Enumerating all 66 resamples gives P(|t| < 4) = 0.89 and P(|t| ≤ 4) = 0.97, so the quantile is 4.
    expect(factor(values)).toBeCloseTo(4, 9);
    expect(factor(values, 'student')).toBeCloseTo(2.262157, 6);
    expect(factor(values.slice(0, 9))).toBeCloseTo(2.306004, 6);
    const almostEqual = [500, 500, 499.9, 500, 499.8, 500, 500, 499.7, 180, 60];
    expect(factor(almostEqual)).toBeCloseTo(2.262157, 6);
  });

  it('of equal values have no width unless there are bounds; resamples of equal values are uninformative', () => {
    expect(meanInterval([4, 4, 4])).toEqual([4, 4]);
    // A resample of equal values hits the centre exactly: 0 / 0.
    expect(halfWidth([...mostly(0.5, 18), 0, 1])).toBeCloseTo(0.0759, 3);
    // The mean of nine times 0.1 is not 0.1.
    for (const value of [0, 0.1]) expect(halfWidth([...mostly(value, 9), value + 5])).toBeCloseTo(1.1311, 3);
  });
});
