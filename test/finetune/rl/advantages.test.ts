import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  discountedReturns,
  generalizedAdvantages,
  groupAdvantages,
  isFlat,
  rlooAdvantages,
  standardize,
} from '../../../finetune/rl/advantages.js';
import { mean, standardDeviation } from '../../../src/statistics/descriptive.js';

const reward = fc.double({ min: -100, max: 100, noNaN: true });
const groups = fc.array(fc.array(reward, { minLength: 2, maxLength: 8 }), { minLength: 1, maxLength: 4 });
const close = (a: readonly number[], b: readonly number[]) => {
  expect(a).toHaveLength(b.length);
  for (const [i, value] of a.entries()) expect(value).toBeCloseTo(b[i]!, 8);
};

describe('advantages within groups', () => {
  it('are rewards minus the group mean, divided by the standard deviation plus 1e-4 if scaled', () => {
    fc.assert(
      fc.property(groups, (drawn) => {
        const scaled = groupAdvantages(drawn, 'group');
        const batch = groupAdvantages(drawn, 'batch');
        const plain = groupAdvantages(drawn, 'none');
        const all = drawn.flat();
        const center = mean(all);
        // The standard deviation of the batch is about its own mean, not about those of the groups.
        const spread = Math.sqrt(all.reduce((sum, one) => sum + (one - center) ** 2, 0) / (all.length - 1));
        drawn.forEach((group, i) => {
          const deviations = group.map((one) => one - mean(group));
          close(plain[i]!, deviations);
          close(
            scaled[i]!,
            deviations.map((one) => one / (standardDeviation(group) + 1e-4)),
          );
          close(
            batch[i]!,
            deviations.map((one) => one / (spread + 1e-4)),
          );
        });
      }),
    );
  });

  it('are exactly 0 for equal rewards, despite rounding', () => {
    fc.assert(
      fc.property(reward, fc.integer({ min: 1, max: 9 }), (one, size) => {
        const equal = Array<number>(size).fill(one);
        const zeros = equal.map(() => 0);
        for (const scale of ['group', 'batch', 'none'] as const)
          expect(groupAdvantages([equal], scale).flat().map(Math.abs)).toEqual(zeros);
        expect(rlooAdvantages([equal]).flat().map(Math.abs)).toEqual(zeros);
        expect(standardize([equal]).flat().map(Math.abs)).toEqual(zeros);
        expect(isFlat(equal)).toBe(true);
      }),
    );
    expect(isFlat([0.1, 0.1, 0.2])).toBe(false);
  });

  it('are the reward minus the mean of the other rewards in the group, with leave-one-out', () => {
    fc.assert(
      fc.property(groups, (drawn) => {
        drawn.forEach((group, i) => {
          const others = group.map((one, place) => one - mean(group.filter((_, other) => other !== place)));
          close(rlooAdvantages(drawn)[i]!, others);
        });
      }),
    );
  });

  it('are 0 for replies without a reward, which the mean ignores', () => {
    expect(groupAdvantages([[1, Number.NaN, 3]], 'none')).toEqual([[-1, 0, 1]]);
    expect(rlooAdvantages([[1, Number.NaN, 3]])).toEqual([[-2, 0, 2]]);
    expect(rlooAdvantages([[Number.NaN, 3]])).toEqual([[0, 0]]);
    expect(isFlat([2, Number.NaN])).toBe(true);
  });

  it('have mean 0 and standard deviation 1 over the batch when standardised', () => {
    const all = standardize([[1, 2], [4], [9, 11]]).flat();
    expect(mean(all)).toBeCloseTo(0, 12);
    expect(standardDeviation(all)).toBeCloseTo(1, 6);
  });
});

describe('an episode', () => {
  it('has returns that discount later rewards', () => {
    expect(discountedReturns([1, 0, 4], 0.5)).toEqual([2, 2, 4]);
    expect(discountedReturns([], 0.5)).toEqual([]);
  });

  const episode = { rewards: [1, 0, 4], values: [0.5, -1, 2], lastValue: 3 };

  it('has discounted returns if λ = 1, with the value of the last state added after truncation', () => {
    const returns = (lastValue: number) =>
      generalizedAdvantages({ ...episode, lastValue }, { discount: 0.5, lambda: 1 }).map(
        (one, step) => one + episode.values[step]!,
      );
    close(returns(3), discountedReturns([1, 0, 4 + 0.5 * 3], 0.5));
    close(returns(0), discountedReturns([1, 0, 4], 0.5));
  });

  it('has one-step TD errors as advantages if λ = 0', () => {
    const advantages = generalizedAdvantages(episode, { discount: 0.9, lambda: 0 });
    close(advantages, [1 - 0.9 - 0.5, 1.8 + 1, 4 + 2.7 - 2]);
  });
});
