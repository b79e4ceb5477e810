import { describe, expect, it } from 'vitest';
import type { RlExample } from '../../../finetune/train/objectives/sampled.js';
import { objectiveSchema } from '../../../finetune/train/objectives/settings.js';
import { policyStatistics } from '../../../finetune/train/policy-statistics.js';

const example: RlExample = {
  promptIds: [1],
  completionIds: [2, 3, 4, 5],
  trained: [true, true, false, true],
  advantages: [1, -1, 9, 1],
  oldLogp: [-1, -1, 0, -2],
  samplerLogp: [-1, -1, 0, -2],
  referenceLogp: [-1, -2, 0, -2],
  returns: [1, 2, 9, 3],
};
const read = {
  example,
  logp: Float64Array.from([-0.5, -2, 0, -2]),
  outputs: { entropy: Float64Array.from([1, 2, 0, 3]), values: Float64Array.from([1, 2, 0, 3]) },
};

describe('statistics of an update', () => {
  it('cover only trained tokens', () => {
    const found = policyStatistics([read], objectiveSchema.parse({ kind: 'grpo' }));
    const kl = (difference: number) => Math.exp(difference) - difference - 1;
    expect(found).toMatchObject({ entropy: 2, mismatch: 0, largestMismatch: 0, explainedVariance: 1 });
    // e^0.5 is above 1.28 with a positive advantage, and e^−1 below 0.8 with a negative one.
    expect(found.clipShare).toBeCloseTo(2 / 3, 12);
    expect(found.kl).toBeCloseTo(kl(-0.5) / 3, 12);
  });

  it('use the ratio of the whole completion for RLOO', () => {
    const product = policyStatistics([read], objectiveSchema.parse({ kind: 'rloo' }));
    expect(product.clipShare).toBeCloseTo(1 / 3, 12);
  });

  it('omit KL and explained variance if inputs are missing; mismatch and clip share are then 0', () => {
    const { samplerLogp: _, referenceLogp: __, oldLogp: ___, returns: ____, ...bare } = example;
    const found = policyStatistics([{ ...read, example: bare }], objectiveSchema.parse({ kind: 'grpo' }));
    expect(found).toEqual({ entropy: 2, mismatch: 0, largestMismatch: 0, clipShare: 0 });
  });
});
