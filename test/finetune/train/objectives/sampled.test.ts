/** The weights of an update's completions. */
import { expect, it } from 'vitest';
import {
  policyInputs,
  type Sampled,
  sequenceMean,
  tokenMean,
} from '../../../../finetune/train/objectives/sampled.js';

const of = (tokens: number, more: Partial<Sampled> = {}): Sampled => ({
  promptIds: [1],
  completionIds: Array.from({ length: tokens }, () => 2),
  advantages: 0.5,
  ...more,
});
const update = [of(3), of(5, { trained: [true, false, true, false, true] })];

it('all trained tokens share a bonus for entropy, which follows its schedule', () => {
  expect(update.map(tokenMean(update))).toEqual([1 / 6, 1 / 6]);
  expect(update.map(sequenceMean(update))).toEqual([1 / 6, 1 / 6]);
  expect([of(4), of(1)].map(sequenceMean([of(4), of(1)]))).toEqual([1 / 8, 1 / 2]);
  const bonus = (entropy: number | { from: number; to: number }, progress: number) =>
    policyInputs(update, () => 2, { entropy, maxImportance: 0 }, false, progress)(update[0]!).entropy_weights;
  expect(bonus(0.3, 0)).toBeCloseTo(0.05, 12);
  expect(bonus({ from: 0.3, to: 0.9 }, 0.5)).toBeCloseTo(0.1, 12);
  expect(bonus(0, 0)).toBeUndefined();
});
