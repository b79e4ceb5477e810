import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import { mean } from '../../src/statistics/descriptive.js';
import { holmAdjusted, pairedTest, permutationTest, welchTest } from '../../src/statistics/tests.js';

/** Two examples of Welch's test: equal sizes, then 10 against 20. */
const [a1, b1] = [
  [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4],
  [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.4, 24.6],
];
const [a2, b2] = [
  [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8],
  [
    21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5,
    23.5, 21.5, 21.8,
  ],
];

describe('welchTest', () => {
  // The formulas of Welch and Satterthwaite in mpmath with 30 digits.
  it.each([
    [a1, b1, [-2.84, 0.0078091590021456, -4.8697304193767, -0.81026958062332]],
    [a2, b2, [-1.525, 0.14884169660533, -3.6984213253752, 0.64842132537517]],
  ])('agrees with an exact computation', (a, b, expected) => {
    const { difference, p, interval } = welchTest(a!, b!)!;
    for (const [i, value] of [difference, p, ...interval].entries()) {
      expect(value).toBeCloseTo(expected[i]!, 9);
    }
    const back = welchTest(b!, a!)!;
    expect([back.difference, back.p]).toEqual([-difference, p]);
  });

  it('separates constant groups, but not groups that differ only by rounding', () => {
    const times = (value: number, count: number) => Array.from({ length: count }, () => value);
    expect(welchTest(times(500, 6), times(200, 7))).toMatchObject({ p: 0, interval: [300, 300] });
    expect(welchTest(times(0.1, 10), times(0.1, 7))!.p).toBe(1);
    expect(welchTest([1], [2, 3])).toBeUndefined();
  });
});

describe('pairedTest', () => {
  it('agrees with an exact computation', () => {
    // Differences of Student's sleep data with one made negative, by the same formulas.
    const { p } = pairedTest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])!;
    expect(p).toBeCloseTo(0.21759778006845, 10);
  });

  it('has p = 1 for all-zero differences, p = 0 for equal non-zero ones, and needs two values', () => {
    expect(pairedTest([0, 0, 0])!.p).toBe(1);
    expect(pairedTest([2, 2, 2])!.p).toBe(0);
    expect(pairedTest([1])).toBeUndefined();
  });
});

it('permutationTest agrees with the share of permutations, and counts at most as many as given', () => {
  const p = (a: readonly number[], b: readonly number[], most: number) =>
    permutationTest(a, b, createGenerator(1), most);
  // 2 of the 20 ways to choose three of six are as extreme.
  expect(p([1, 1, 1], [2, 2, 2], 1000)).toBeCloseTo(0.1, 1);
  expect(p([0.1, 0.1], [0.1, 0.1, 0.1], 1000)).toBe(1);
  expect(p(Array(12).fill(0), Array(12).fill(1), 99)).toBe(0.02);
});

describe('holmAdjusted', () => {
  it('agrees with a worked example', () => {
    // 4 × 0.005, 3 × 0.01, 2 × 0.03, and 0.04 raised to the one before it.
    const adjusted = holmAdjusted([0.01, 0.04, 0.03, 0.005]);
    for (const [i, value] of [0.03, 0.06, 0.06, 0.02].entries()) expect(adjusted[i]).toBeCloseTo(value, 12);
    expect(holmAdjusted([])).toEqual([]);
    expect(holmAdjusted([0.04])).toEqual([0.04]);
    expect(holmAdjusted([0.9, 0.8])).toEqual([1, 1]);
  });

  it("keeps the order of p-values, and lies between no correction and Bonferroni's", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }), (ps) => {
        const adjusted = holmAdjusted(ps);
        for (const [i, p] of ps.entries()) {
          expect(adjusted[i]).toBeGreaterThanOrEqual(p);
          expect(adjusted[i]).toBeLessThanOrEqual(Math.min(1, ps.length * p));
          for (const [j, other] of ps.entries()) {
            if (p < other) expect(adjusted[i]).toBeLessThanOrEqual(adjusted[j]!);
          }
        }
      }),
    );
  });
});

/** Final returns of one run. */
const kinds: Readonly<Record<string, (random: RandomGenerator, better: boolean) => number>> = {
  normal: (random, better) => random.normal(better ? 1 : 0, better ? 2 : 1),
  // Returns with a long tail.
  skewed: (random, better) => Math.exp(random.normal(better ? 0.3 : 0, 0.8)),
  // Solved or not.
  bimodal: (random, better) => (random.random() < (better ? 0.6 : 0.4) ? 1 : 0) + random.normal(0, 0.05),
};

describe.each(Object.keys(kinds))('with two groups of ten %s runs', (kind) => {
  const draw = kinds[kind]!;
  const group = (random: RandomGenerator, count: number, better: boolean) =>
    Array.from({ length: count }, () => draw(random, better));

  it("Welch's interval covers the difference at its nominal rate", () => {
    const population = createGenerator(5);
    const truth = mean(group(population, 50_000, true)) - mean(group(population, 50_000, false));
    const random = createGenerator(17);
    const trials = 1000;
    let covered = 0;
    for (let trial = 0; trial < trials; trial++) {
      const [low, high] = welchTest(group(random, 10, true), group(random, 10, false))!.interval;
      if (low <= truth && truth <= high) covered++;
    }
    // The standard error of the rate is 0.7 %, but the draws are the same every time.
    expect(covered / trials).toBeGreaterThan(0.935);
    expect(covered / trials).toBeLessThan(0.97);
  });

  it("Holm's correction keeps false positives among four equal groups near 5 %", () => {
    const random = createGenerator(23);
    const trials = 300;
    let [any, uncorrected] = [0, 0];
    for (let trial = 0; trial < trials; trial++) {
      const groups = Array.from({ length: 4 }, () => group(random, 10, false));
      const ps = groups.flatMap((a, i) => groups.slice(i + 1).map((b) => welchTest(a, b)!.p));
      if (holmAdjusted(ps).some((p) => p < 0.05)) any++;
      if (ps.some((p) => p < 0.05)) uncorrected++;
    }
    // The standard error of 5 % is 1.3 %; without a correction it is about 20 %.
    expect(any / trials).toBeLessThan(0.075);
    expect(uncorrected / trials).toBeGreaterThan(0.12);
  });
});
