import { describe, expect, it } from 'vitest';
import type { Sampled } from '../../../../finetune/train/objectives/sampled.js';
import { layOut, ownRows } from '../../../../finetune/train/packing.js';
import { largestDifference, relativeDistance } from '../../reference-training.js';
import { someCompletions, type Updated, updates, type Written } from './policy.js';

const flat = ({ gradients }: Updated) =>
  Float64Array.from([...gradients.values()].flatMap((one) => [...one]));

/** Every objective with everything that it can have. */
const objectives: Readonly<Record<string, Written>> = Object.fromEntries([
  ...['dapo', 'grpo', 'dr_grpo', 'cispo'].flatMap((variant) =>
    ['token', 'sequence'].map((ratio): [string, Written] => [
      `${variant}, ratios of a ${ratio}`,
      { kind: 'grpo', variant, ratio, kl: { coefficient: 0.1 }, entropy: 0.01, importance: { cap: 1.2 } },
    ]),
  ),
  ['reinforce', { kind: 'reinforce', entropy: 0.01 }],
]);

describe.each(Object.entries(objectives))('%s', (_, settings) => {
  it('does not depend on order, padding, packing and accumulation', async () => {
    const update = someCompletions(1);
    const layouts = [
      [ownRows(update)],
      [ownRows(update.toReversed())],
      update.map((one) => ownRows([one])),
      layOut(update, { packing: 'prompts', batchTokens: 1000 }),
      layOut(update, { packing: 'rows', batchTokens: 30 }),
    ];
    const [first, ...others] = await updates(settings, {}, update, layouts);
    expect(flat(first!).some((slope) => Math.abs(slope) > 1e-3)).toBe(true);
    for (const other of others) {
      expect(other.loss).toBeCloseTo(first!.loss, 11);
      expect(relativeDistance(flat(other), flat(first!))).toBeLessThan(1e-10);
    }
  });
});

it('without a spread of rewards nothing is learnt: the gradient is exactly 0', async () => {
  const update = someCompletions(2).map((one): Sampled => ({ ...one, advantages: 0 }));
  for (const kind of ['grpo', 'reinforce']) {
    const [result] = await updates({ kind }, {}, update);
    expect(largestDifference(flat(result!), new Float64Array(flat(result!).length))).toBe(0);
  }
});
