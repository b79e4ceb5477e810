import { describe, expect, it } from 'vitest';
import { groupAdvantages } from '../../../../finetune/rl/advantages.js';
import type { RlExample } from '../../../../finetune/train/objectives/sampled.js';
import { layOut, singleFamilies } from '../../../../finetune/train/packing.js';
import { largestDifference, relativeDistance } from '../../reference-training.js';
import { context, someCompletions, type Updated, updates, type Written } from './policy.js';

const flat = ({ gradients }: Updated) =>
  Float64Array.from([...gradients.values()].flatMap((one) => [...one]));

const variants = ['dapo', 'grpo', 'dr_grpo'] as const;

/** Every objective with all its options. */
const objectives: Readonly<Record<string, Written>> = Object.fromEntries([
  ...variants.map((variant): [string, Written] => [
    variant,
    { kind: 'grpo', variant, kl: 0.1, entropy: 0.01, maxImportance: 1.2 },
  ]),
  ['rloo', { kind: 'rloo', entropy: 0.01 }],
  ['ppo', { kind: 'ppo', entropy: 0.01 }],
  ['reinforce', { kind: 'reinforce', entropy: 0.01 }],
]);

describe.each(Object.entries(objectives))('the objective %s', (_, settings) => {
  it('does not depend on order, padding, packing or accumulation', async () => {
    const update = someCompletions(1);
    const layouts = [
      [singleFamilies(update)],
      [singleFamilies(update.toReversed())],
      update.map((one) => singleFamilies([one])),
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

it('equal rewards give a gradient of exactly 0', async () => {
  const [advantages] = groupAdvantages([[0.1, 0.1, 0.1, 0.1, 0.1, 0.1]], 'group');
  const update = someCompletions(2).map((one, i): RlExample => ({ ...one, advantages: advantages![i]! }));
  for (const written of [
    ...variants.map((variant) => ({ kind: 'grpo', variant })),
    { kind: 'rloo' },
    { kind: 'reinforce' },
    { kind: 'ppo', valueCoefficient: 0 },
  ]) {
    const [result] = await updates(written, {}, update);
    expect(largestDifference(flat(result!), new Float64Array(flat(result!).length))).toBe(0);
  }
});

describe('on-policy updates', () => {
  const update = someCompletions(3);
  const none = { maxImportance: 0 };
  const lengths = update.map(({ completionIds, trained }) =>
    trained === undefined ? completionIds.length : trained.filter(Boolean).length,
  );
  const tokens = lengths.reduce((a, b) => a + b);

  it.each([
    ['dr_grpo', 1 / context.maxCompletionTokens],
    ['dapo', update.length / tokens],
  ] as const)('of %s equal those of REINFORCE up to a normalisation factor', async (variant, factor) => {
    const [plain] = await updates({ kind: 'reinforce', ...none }, {}, update);
    const [own] = await updates({ kind: 'grpo', variant, ...none }, { reused: false }, update);
    expect(
      relativeDistance(
        flat(own!),
        flat(plain!).map((slope) => factor * slope),
      ),
    ).toBeLessThan(1e-12);
  });

  it('are the same with log-probabilities computed in advance', async () => {
    const [fresh] = await updates({ kind: 'grpo', ...none }, { reused: false }, update);
    const read = new Map(fresh!.examples.map(({ example, logp }) => [example, logp]));
    const again = update.map((one) => ({ ...one, oldLogp: read.get(one) }));
    const [reused] = await updates({ kind: 'grpo', ...none }, {}, again);
    expect(relativeDistance(flat(reused!), flat(fresh!))).toBeLessThan(1e-12);
    // Another old policy gives another update.
    const [other] = await updates({ kind: 'grpo', ...none }, {}, update);
    expect(relativeDistance(flat(other!), flat(fresh!))).toBeGreaterThan(0.01);
  });
});
