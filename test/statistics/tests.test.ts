import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { holmAdjusted, permutationTest, signFlipTest, unpairedTest } from '../../src/statistics/tests.js';

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

describe('unpairedTest', () => {
  // The interval: formulas of Welch and Satterthwaite in mpmath with 30 digits. p: exact to a tenth, by permutation.
  it.each([
    [a1, b1, [-2.84, -4.8697304193767, -0.81026958062332], 0.0078],
    [a2, b2, [-1.525, -3.6984213253752, 0.64842132537517], 0.062],
  ])("agrees with Welch's interval and, to within 20 %%, with the exact p-value", (a, b, expected, exact) => {
    const { difference, p, interval } = unpairedTest(a!, b!);
    for (const [i, value] of [difference, ...interval!].entries()) expect(value).toBeCloseTo(expected[i]!, 9);
    expect(Math.abs(p / exact - 1)).toBeLessThan(0.2);
    const back = unpairedTest(b!, a!);
    expect(back.difference).toBeCloseTo(-difference, 12);
    expect(back.interval![0]).toBeCloseTo(-interval![1], 12);
  });

  it('separates constant groups, but not groups that differ only by rounding', () => {
    const times = (value: number, count: number) => Array.from({ length: count }, () => value);
    const { interval, p } = unpairedTest(times(500, 20), times(200, 20), [0, 1000]);
    expect(p).toBeLessThan(0.001);
    expect(interval).toEqual([300, 300]);
    // One of the bounds may hold what 20 runs don't show: at 500 of 500, one in six runs may fail.
    expect(unpairedTest(times(200, 20), times(500, 20), [0, 500]).interval![1]).toBeGreaterThan(-250);
    expect(unpairedTest(times(0.1, 10), times(0.1, 7)).p).toBe(1);
    expect(unpairedTest([1, 4], [2, 3, 5]).interval).toBeNull();
  });
});

describe('signFlipTest', () => {
  it('agrees with a count of all sign combinations, exactly if there are few differences', () => {
    // Student's sleep data with one difference made negative, counted in integers by another program.
    expect(signFlipTest([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2])).toBe(244 / 1024);
    expect(signFlipTest([1, 2, 4, 8, 16, -1])).toBe(6 / 64);
    expect(signFlipTest(Array(16).fill(1))).toBe(2 / 2 ** 16);
    // The signs of differences 0, 31, 32 and 63 are equal in one of eight ways.
    const apart = Array.from({ length: 64 }, (_, i) => Number((i + 1) % 32 < 2));
    expect(Math.abs(signFlipTest(apart) - 1 / 8)).toBeLessThan(0.01);
  });

  it('gives p = 1 for all-zero differences, and never p = 0', () => {
    expect(signFlipTest([0, 0, 0])).toBe(1);
    expect(signFlipTest(Array(30).fill(0.1))).toBe(1 / (2 ** 14 + 1));
  });
});

it('permutationTest agrees with a count of all permutations, and draws at most the given number', () => {
  const p = (a: readonly number[], b: readonly number[], most: number, enough?: number) =>
    permutationTest(a, b, createGenerator(1), most, enough);
  // 2 of the 20 ways to choose three of six are as extreme.
  expect(Math.abs(p([1, 1, 1], [2, 2, 2], 5000, 5000) - 0.1)).toBeLessThan(0.01);
  expect(p([0.1, 0.1], [0.1, 0.1, 0.1], 1000)).toBe(1);
  expect(p(Array(12).fill(0), Array(12).fill(1), 99)).toBe(0.02);
});

describe('holmAdjusted', () => {
  it('agrees with a worked example', () => {
    // 4 × 0.005, 3 × 0.01, 2 × 0.03, and 0.04 raised to the one before it.
    const adjusted = holmAdjusted([0.01, 0.04, 0.03, 0.005]);
    for (const [i, value] of [0.03, 0.06, 0.06, 0.02].entries()) expect(adjusted[i]).toBeCloseTo(value, 12);
    expect(holmAdjusted([0.9, 0.8])).toEqual([1, 1]);
  });

  it("keeps the order of p-values, never lowers one, and never exceeds Bonferroni's correction", () => {
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

it("Holm's correction keeps the rate of false positives among four equal groups below 7.5 %", () => {
  const random = createGenerator(23);
  const trials = 300;
  let [any, uncorrected] = [0, 0];
  for (let trial = 0; trial < trials; trial++) {
    // Returns with a long tail.
    const group = () => Array.from({ length: 10 }, () => Math.exp(random.normal(0, 0.8)));
    const groups = Array.from({ length: 4 }, group);
    const ps = groups.flatMap((a, i) => groups.slice(i + 1).map((b) => permutationTest(a, b, random, 2000)));
    if (holmAdjusted(ps).some((p) => p < 0.05)) any++;
    if (ps.some((p) => p < 0.05)) uncorrected++;
  }
  // The standard error of 5 % is 1.3 %; without a correction it is about 20 %.
  expect(any / trials).toBeLessThan(0.075);
  expect(uncorrected / trials).toBeGreaterThan(0.12);
});
