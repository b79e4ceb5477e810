import { describe, expect, it } from 'vitest';
import { exampleLength, type TokenExample } from '../../../finetune/engine/batch.js';
import {
  layOut,
  type OrderSettings,
  paddedLength,
  planEpoch,
  stepsPerEpoch,
  unitsOf,
} from '../../../finetune/train/packing.js';

/** 103 examples of 20 to 110 tokens; with `answers`, that many for each prompt. */
function someExamples(answers = 1): TokenExample[] {
  return Array.from({ length: 103 }, (_, i) => {
    const prompt = Math.floor(i / answers);
    return {
      promptIds: [prompt, ...Array<number>(14 + ((prompt * 37) % 90)).fill(5)],
      completionIds: [...Array<number>(4).fill(7), i],
      weight: 1,
    };
  });
}

const settings: OrderSettings = { seed: 1, batchExamples: 8, batchTokens: 256, packing: 'none' };

const plan = (examples: readonly TokenExample[], epoch: number, change: Partial<OrderSettings> = {}) =>
  planEpoch(unitsOf(examples, { ...settings, ...change }), { ...settings, ...change }, epoch);

describe.each(['none', 'rows', 'prompts'] as const)('the order of examples with packing %s', (packing) => {
  const examples = someExamples(3);

  it('includes every example once per epoch, and batchExamples of them in each full step', () => {
    const steps = plan(examples, 0, { packing });
    expect(steps.flat().sort((a, b) => a - b)).toEqual([...examples.keys()]);
    expect(steps).toHaveLength(stepsPerEpoch(103, settings));
    expect(steps.map((step) => step.length).sort()).toEqual([7, ...Array(12).fill(8)]);
  });

  it('is determined by seed and epoch', () => {
    expect(plan(examples, 0, { packing })).toEqual(plan(examples, 0, { packing }));
    expect(plan(examples, 0, { packing })).not.toEqual(plan(examples, 1, { packing }));
    expect(plan(examples, 0, { packing })).not.toEqual(plan(examples, 0, { packing, seed: 2 }));
  });
});

it('grouping examples of similar length keeps padding below 10 %', () => {
  const examples = someExamples();
  const parts = plan(examples, 0).flatMap((step) =>
    layOut(
      step.map((index) => examples[index]!),
      settings,
    ),
  );
  const padded = parts.reduce((sum, part) => sum + paddedLength(part), 0);
  const own = examples.reduce((sum, example) => sum + exampleLength(example) - 1, 0);
  expect(padded / own).toBeLessThan(1.1);
});

it('packing by prompts puts the replies to a prompt in one step, or in two if the step is full', () => {
  const examples = someExamples(3);
  const steps = plan(examples, 0, { packing: 'prompts' });
  const stepsOf = new Map<number, number[]>();
  steps.forEach((step, number) => {
    for (const index of step) {
      const prompt = Math.floor(index / 3);
      stepsOf.set(prompt, [...new Set([...(stepsOf.get(prompt) ?? []), number])]);
    }
  });
  const spread = [...stepsOf.values()].map((one) => one.length);
  expect(Math.max(...spread)).toBe(2);
  // At most one prompt is cut by the end of each of the 13 steps.
  expect(spread.filter((count) => count === 2).length).toBeLessThan(13);
});
