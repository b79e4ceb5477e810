import { describe, expect, it } from 'vitest';
import { bootstrapIqm95, bootstrapIqmDifference95, bootstrapMean95 } from '../src/bootstrap.js';
import { createGenerator, type RandomGenerator } from '../src/random.js';
import { interquartileMean, mean } from '../src/statistics.js';

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

/** Share of trials with 10 pairs in which the interval holds the truth; its standard error is about 1.1 %. */
function coverage(
  draw: DrawPair,
  truth: number,
  interval: (pairs: readonly (readonly [number, number])[]) => readonly [number, number],
): number {
  const random = createGenerator(11);
  const trials = 400;
  let covered = 0;
  for (let trial = 0; trial < trials; trial++) {
    const [low, high] = interval(pairsOf(draw, 10, random));
    if (low <= truth && truth <= high) covered++;
  }
  return covered / trials;
}

describe('with ten pairs of runs, bootstrap intervals cover at their nominal rate', () => {
  const population = (draw: DrawPair) => pairsOf(draw, 200_000, createGenerator(5));

  it.each(Object.entries(kinds))('the mean difference, %s', (_name, draw) => {
    const truth = mean(population(draw).map(([a, b]) => a - b));
    const rate = coverage(draw, truth, (pairs) => bootstrapMean95(pairs.map(([a, b]) => a - b)));
    expect(rate).toBeGreaterThan(0.925);
    expect(rate).toBeLessThan(0.985);
  });

  it.each(Object.entries(kinds))('the interquartile mean, %s', (_name, draw) => {
    const truth = interquartileMean(population(draw).map(([a]) => a));
    const rate = coverage(draw, truth, (pairs) => bootstrapIqm95(pairs.map(([a]) => a)));
    expect(rate).toBeGreaterThan(0.925);
    expect(rate).toBeLessThan(0.99);
  });

  it.each(Object.entries(kinds))('the difference of interquartile means, %s', (_name, draw) => {
    const all = population(draw);
    const truth = interquartileMean(all.map(([a]) => a)) - interquartileMean(all.map(([, b]) => b));
    const rate = coverage(draw, truth, (pairs) =>
      bootstrapIqmDifference95(
        pairs.map(([a]) => a),
        pairs.map(([, b]) => b),
      ),
    );
    expect(rate).toBeGreaterThan(0.925);
    expect(rate).toBeLessThanOrEqual(0.995);
  });
});

describe('bootstrap intervals', () => {
  const values = [3, 9, 4, 7, 5, 8, 1, 6];

  it('are the same for the same values, and move and stretch with them', () => {
    const [low, high] = bootstrapMean95(values);
    expect(bootstrapMean95(values)).toEqual([low, high]);
    const [movedLow, movedHigh] = bootstrapMean95(values.map((value) => 100 - 2 * value));
    expect(movedLow).toBeCloseTo(100 - 2 * high, 9);
    expect(movedHigh).toBeCloseTo(100 - 2 * low, 9);
  });

  it('have no width where there is nothing to see, and stay finite where most values are equal', () => {
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
});
