import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { comparePairs, summarize } from '../../src/statistics/paired.js';
import { type Verdict, withVerdicts } from '../../src/statistics/tests.js';

const random = createGenerator(3);
const base = Array.from({ length: 10 }, () => random.normal(100, 20));

/** The verdict of one difference alone. */
const verdictOf = (a: readonly number[], b: readonly number[]): Verdict =>
  withVerdicts([comparePairs(a, b)!])[0]!.verdict;

describe('intervals within a range', () => {
  const few = [0, 0.015, 0.1, 0.02];

  it('are clipped to that range, but always contain the mean', () => {
    expect(summarize(few)!.meanInterval![0]).toBeLessThan(0);
    expect(summarize(few, [0, 1])!.meanInterval![0]).toBe(0);
    expect(summarize(few, [0, 0.01])!.meanInterval).toEqual([0, summarize(few)!.mean]);
    expect(summarize(few, [-1, 1])).toEqual(summarize(few));
  });

  it('allow for unseen values at the opposite bound if values pile up at one bound', () => {
    // Clopper and Pearson for 10 of 10: [0.692, 1].
    const [low, high] = summarize(Array(10).fill(1), [0, 1])!.meanInterval!;
    expect(low).toBeCloseTo(0.692, 1);
    expect(high).toBe(1);
    // Six equal differences, one of whose sides is at its bound, are no evidence: one run in five may fail.
    const solved = Array<number>(6).fill(500);
    const constant = Array<number>(6).fill(402);
    const { interval } = comparePairs(solved, constant, [1, 500])!;
    expect(interval![0]).toBeLessThan(0);
    expect(interval![1]).toBe(98);
    const [other, back] = comparePairs(constant, solved, [1, 500])!.interval!;
    expect(other).toBe(-98);
    expect(back).toBeCloseTo(-interval![0], 9);
    // If the bounds are unknown, nothing is known about the rest.
    expect(comparePairs(solved, constant)).toMatchObject({ interval: null, p: 2 / 64 });
    expect(verdictOf(solved, constant)).toBe('too-few');
    expect(verdictOf(Array(14).fill(500), Array(14).fill(402))).toBe('higher');
  });

  it('of differences are clipped to the width of that range, which leaves p-values unchanged', () => {
    const [a, b] = [
      [0.9, 0.8, 0.95, 0.85, 0.7, 0.15],
      [0.03, 0.02, 0.13, 0.05, 0.04, 0.9],
    ];
    const whole = comparePairs(a!, b!)!;
    expect(whole.interval![1]).toBeGreaterThan(1);
    expect(comparePairs(a!, b!, [0, 1])).toEqual({ ...whole, interval: [whole.interval![0], 1] });
  });
});

describe('a paired comparison', () => {
  it('finds an effect much smaller than the spread between seeds', () => {
    const tuned = base.map((value) => value + 5 + random.normal(0, 2));
    const found = comparePairs(tuned, base)!;
    expect(verdictOf(tuned, base)).toBe('higher');
    expect(found.difference).toBeGreaterThan(3);
    expect(found.winRate).toBeGreaterThanOrEqual(0.9);
    const back = comparePairs(base, tuned)!;
    expect(verdictOf(base, tuned)).toBe('lower');
    expect(back.difference).toBeCloseTo(-found.difference, 12);
    expect(back.winRate).toBeCloseTo(1 - found.winRate, 12);
  });

  it('finds no evidence of a difference between identical runs', () => {
    expect(comparePairs(base, base)).toMatchObject({ difference: 0, interval: [0, 0], winRate: 0.5, p: 1 });
    expect(verdictOf(base, base)).toBe('no-evidence');
  });

  it('counts a rounding error as a tie', () => {
    expect(comparePairs([-1620.1 + 9.5e-11, -1462], [-1620.1, -1473])).toMatchObject({
      difference: 5.5,
      winRate: 0.75,
    });
  });

  it('gives no verdict for five pairs, however large the difference', () => {
    const five = base.slice(0, 5);
    const higher = five.map((value) => value + 1000);
    expect(verdictOf(higher, five)).toBe('too-few');
    const six = base.slice(0, 6);
    const above = six.map((value, i) => value + 1000 + i);
    expect(verdictOf(above, six)).toBe('higher');
  });

  it('leaves out pairs with a missing value', () => {
    expect(comparePairs([1, null, 3, 4], [0, 5, null, 2])).toEqual(comparePairs([1, 4], [0, 2]));
  });

  it('is undefined for no pairs, has no interval for two pairs, and rejects unequal lengths', () => {
    expect(comparePairs([], [])).toBeUndefined();
    expect(comparePairs([1, 5], [2, 3])).toMatchObject({ pairs: 2, interval: null, p: null });
    expect(() => comparePairs([1, 2], [1])).toThrow(RangeError);
    expect(summarize([])).toBeUndefined();
    expect(summarize([0, 0.1, 0.4], [0, 1])!.meanInterval![0]).toBe(0);
    expect(summarize([7])).toEqual({ count: 1, mean: 7, meanInterval: null, iqm: 7, iqmInterval: null });
  });
});
