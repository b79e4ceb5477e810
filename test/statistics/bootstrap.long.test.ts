import { describe, expect, it } from 'vitest';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import { bootstrapIqm95, bootstrapMean95, bootstrapMedian95 } from '../../src/statistics/bootstrap.js';
import { interquartileMean, mean, median, standardDeviation } from '../../src/statistics/descriptive.js';

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
 * Share of trials with 10 pairs in which the interval holds the truth. So few trials have a standard error of 2 %, but
 * draw the same every time: with these seeds, plain percentile intervals hold it in at most 92 % of them.
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

it("bootstrapMean95 matches Student's t if most runs have almost the same return", () => {
  const returns = [500, 500, 499.9, 500, 499.8, 500, 500, 499.7, 180, 60];
  const [low, high] = bootstrapMean95(returns);
  const half = (2.262 * standardDeviation(returns)) / Math.sqrt(10);
  expect(low).toBeCloseTo(mean(returns) - half, 0);
  expect(high).toBeCloseTo(mean(returns) + half, 0);
});

describe.each(Object.keys(kinds))('with ten pairs of %s runs, intervals cover', (kind) => {
  const draw = kinds[kind]!;
  const population = pairsOf(draw, 30_000, createGenerator(5));
  const first = (pairs: readonly (readonly [number, number])[]) => pairs.map(([a]) => a);

  it('the mean difference at about 95 %', () => {
    const truth = mean(population.map(([a, b]) => a - b));
    const rate = coverage(draw, truth, 13, (pairs) => bootstrapMean95(pairs.map(([a, b]) => a - b)));
    expect(rate).toBeGreaterThan(0.93);
    expect(rate).toBeLessThan(0.985);
  });

  it('the interquartile mean at about 95 %', () => {
    const truth = interquartileMean(first(population));
    const rate = coverage(draw, truth, 11, (pairs) => bootstrapIqm95(first(pairs)));
    expect(rate).toBeGreaterThan(0.93);
    expect(rate).toBeLessThan(0.985);
  });

  it('the median in more than 92 % of trials', () => {
    const truth = median(first(population));
    const rate = coverage(draw, truth, 11, (pairs) => bootstrapMedian95(first(pairs)));
    expect(rate).toBeGreaterThan(0.92);
  });
});

describe('bootstrap intervals', () => {
  const values = [3, 9, 4, 7, 5, 8, 1, 6];

  it('are reproducible, and shift and scale with the values', () => {
    const [low, high] = bootstrapMean95(values);
    expect(bootstrapMean95(values)).toEqual([low, high]);
    const [movedLow, movedHigh] = bootstrapMean95(values.map((value) => 100 - 2 * value));
    expect(movedLow).toBeCloseTo(100 - 2 * high, 9);
    expect(movedHigh).toBeCloseTo(100 - 2 * low, 9);
  });

  it('have no width without variation, and stay finite if most values are equal', () => {
    expect(bootstrapMean95([4])).toEqual([4, 4]);
    expect(bootstrapMean95([4, 4, 4])).toEqual([4, 4]);
    expect(bootstrapIqm95([4])).toEqual([4, 4]);
    for (const count of [2, 3, 5]) {
      const [low, high] = bootstrapMean95(Array.from({ length: count }, (_, i) => (i === 0 ? 1 : 0)));
      expect(Number.isFinite(high - low)).toBe(true);
      // One run of a few that was different is no evidence.
      expect(low).toBeLessThan(0);
    }
  });

  it('treat resamples without spread as uninformative, despite rounding', () => {
    const mostly = (value: number, count: number) => Array.from({ length: count }, () => value);
    // A resample of equal values hits the centre exactly: 0 / 0.
    const [low, high] = bootstrapMean95([...mostly(0.5, 18), 0, 1]);
    expect(0.5 - low).toBeCloseTo(0.0759, 3);
    expect(high - 0.5).toBeCloseTo(0.0759, 3);
    // The mean of nine times 0.1 is not 0.1.
    for (const value of [0, 0.1]) {
      const values = [...mostly(value, 9), value + 5];
      const half = (bootstrapMean95(values)[1] - bootstrapMean95(values)[0]) / 2;
      expect(half).toBeCloseTo(1.1311, 3);
    }
  });
});
