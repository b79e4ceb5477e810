import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { familyLength, makeBatch, type TokenExample } from '../../../finetune/engine/batch.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import type { Parameter } from '../../../finetune/engine/training-session.js';
import { sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { joinExamples, layOut, type Part, packings, paddedLength } from '../../../finetune/train/packing.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { Precision } from '../../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { openSft } from '../engine/peft.js';
import { readReferenceTraining, relativeDistance } from '../reference-training.js';

const random = createGenerator(6);
const someIds = (length: number) => Array.from({ length }, () => random.integers(0, 250));

const system = someIds(30);

/** Unrelated examples of different lengths, prompts with several replies (one of them empty), and prompts with a common prefix. */
const examples: readonly TokenExample[] = [
  { promptIds: someIds(23), completionIds: someIds(9), weight: 1 },
  { promptIds: someIds(4), completionIds: someIds(3), weight: -0.5 },
  ...[someIds(11), someIds(17)].flatMap((promptIds) =>
    [5, 1, 8].map((answer) => ({ promptIds, completionIds: someIds(answer), weight: 1 / answer })),
  ),
  { promptIds: someIds(1), completionIds: someIds(6), weight: 2 },
  ...[3, 7, 0].map((more) => ({
    promptIds: [...system, ...someIds(more)],
    completionIds: someIds(4),
    trained: [false, true, true, false],
    weight: 0.5,
  })),
];

const tokensOf = (parts: readonly Part[]) =>
  parts.flat().reduce((sum, family) => sum + familyLength(family), 0);

describe('packing', () => {
  it('keeps every example, and stays within the token limit unless a single example exceeds it', () => {
    const example = fc.record({
      prompt: fc.integer({ min: 1, max: 12 }),
      completionIds: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 20 }),
    });
    fc.assert(
      fc.property(
        fc.array(example, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(...packings),
        (drawn, batchTokens, packing) => {
          const all = drawn.map(({ prompt, completionIds }) => ({
            promptIds: Array<number>(3 * prompt).fill(prompt),
            completionIds,
            weight: 1,
          }));
          const parts = layOut(all, { packing, batchTokens });
          expect(new Set(parts.flat(2))).toEqual(new Set(all));
          expect(parts.flat(2)).toHaveLength(all.length);
          for (const part of parts) {
            expect(paddedLength(part) <= batchTokens || part.flat().length === 1).toBe(true);
            for (const family of part)
              expect(new Set(family.map(({ promptIds }) => promptIds.join())).size).toBe(1);
          }
        },
      ),
    );
  });

  it('reads a prefix shared by prompts once, and nothing after the last trained token', () => {
    const turns = [5, 8, 8].map((length) => ({
      promptIds: [...system, ...someIds(length)],
      completionIds: someIds(4),
      trained: [true, false, false, false],
      weight: 1,
    }));
    const [part, ...others] = layOut(turns, { packing: 'rows', batchTokens: 1000 });
    expect(others).toHaveLength(0);
    expect(part!.map(familyLength)).toEqual([30 + 5 + 8 + 8]);
    const [first, second] = [system, someIds(40)].map((prefix) =>
      [4, 6].map((more) => ({
        promptIds: [...prefix, ...someIds(more)],
        completionIds: someIds(1),
        weight: 1,
      })),
    );
    const apart = layOut([...first!, ...second!], { packing: 'rows', batchTokens: 1000 });
    expect(apart.flat().map(familyLength).toSorted()).toEqual([30 + 4 + 6, 40 + 4 + 6]);
  });

  it('reads a prompt once for all its replies and pads only attention', () => {
    const prompt = someIds(40);
    const replies = Array.from({ length: 8 }, () => ({
      promptIds: prompt,
      completionIds: someIds(6),
      weight: 1,
    }));
    const [part, ...others] = layOut(replies, { packing: 'rows', batchTokens: 1000 });
    expect(others).toHaveLength(0);
    expect(part!.map(familyLength)).toEqual([40 + 8 * 5]);
    expect(tokensOf(layOut(replies, { packing: 'none', batchTokens: 1000 }))).toBe(8 * 45);
    const strangers = [30, 10, 10, 10].map((length) => ({
      promptIds: someIds(length),
      completionIds: someIds(2),
      weight: 1,
    }));
    const [padded] = layOut(strangers, { packing: 'rows', batchTokens: 1000 });
    expect(makeBatch(padded!, sftInputs(strangers)).input_ids!.values).toHaveLength(31 + 3 * 11 + 1);
    expect(paddedLength(padded!)).toBe(4 * 31);
    expect(layOut(strangers, { packing: 'rows', batchTokens: 4 * 31 - 1 })).toHaveLength(2);
  });
});

async function sumOverParts(
  config: DecoderConfig,
  trainable: TrainableSpec,
  precision: Precision,
  layouts: readonly (readonly Part[])[],
) {
  const values = createGenerator(8);
  const parameters = trainedParameters(config, trainable).map(({ name, shape }): Parameter => {
    const drawn = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
      Math.fround(values.normal(0, 0.2)),
    );
    return { name, shape, values: precision === 'float64' ? drawn : Float32Array.from(drawn) };
  });
  const session = await openSft(config, trainable, precision);
  const results: { loss: number; gradients: Map<string, Float64Array> }[] = [];
  for (const parts of layouts) {
    const gradients = new Map<string, Float64Array>();
    let loss = 0;
    for (const part of parts) {
      const result = await session.run(parameters, makeBatch(part, sftInputs(examples)), 0);
      loss += result.loss;
      for (const [name, gradient] of result.gradients) {
        const sum = gradients.get(name) ?? new Float64Array(gradient.length);
        gradients.set(
          name,
          sum.map((value, i) => value + gradient[i]!),
        );
      }
    }
    results.push({ loss, gradients });
  }
  await session.close();
  return results;
}

/** The reference models: biases and grouped queries (Qwen2), norms of heads (Qwen3), scaled positions (Llama 3). */
describe.each(referenceModels)('packed batches of %s', (name) => {
  const directory = referenceDirectory(name);
  const config = readDecoderConfig(directory);
  const adapter: TrainableSpec = {
    kind: 'adapter',
    lora: { ...readReferenceTraining(name).lora, dropout: 0 },
    base: openWeights(directory),
  };
  /** Layers that see the last few tokens only. */
  const near = { ...config, layers: config.layers.map((layer) => ({ ...layer, window: 7 })) };
  const layouts = [
    examples.flatMap((example) => layOut([example], { packing: 'none', batchTokens: 1 })),
    layOut(examples, { packing: 'rows', batchTokens: 1000 }),
    layOut(examples, { packing: 'none', batchTokens: 1000 }),
  ];

  it.each([
    ['an adapter', config, adapter],
    ['all weights', config, { kind: 'all' }],
    ['all weights within a window', near, { kind: 'all' }],
  ] as const)('%s: loss and every gradient equal those of separate examples', async (_, model, trainable) => {
    const [alone, ...packed] = await sumOverParts(model, trainable, 'float64', layouts);
    const [aloneRounded, ...packedRounded] = await sumOverParts(model, trainable, 'float32', layouts);
    const distance = (gradient: Float64Array, parameter: string) =>
      relativeDistance(gradient, alone!.gradients.get(parameter)!);
    const rounding = (parameter: string) => distance(aloneRounded!.gradients.get(parameter)!, parameter);
    for (const { loss, gradients } of [...packed, ...packedRounded]) {
      expect(Math.abs(loss / alone!.loss - 1)).toBeLessThan(1e-5);
      expect(gradients.size).toBe(alone!.gradients.size);
    }
    for (const { gradients } of packed)
      for (const [parameter, gradient] of gradients)
        expect(distance(gradient, parameter), parameter).toBeLessThan(1e-9);
    // Rounding errors may be as large as those of separate examples.
    for (const { gradients } of packedRounded)
      for (const [parameter, gradient] of gradients)
        expect(distance(gradient, parameter), parameter).toBeLessThan(1e-5 + rounding(parameter));
  });
});

it("a prompt's replies do not see one another", async () => {
  const config = readDecoderConfig(referenceDirectory('qwen3-fp32'));
  const family = examples.slice(2, 5);
  const changed = family.with(1, { ...family[1]!, completionIds: someIds(30), weight: 0 });
  const silent = family.with(1, { ...family[1]!, weight: 0 });
  const [one, other] = await sumOverParts(config, { kind: 'all' }, 'float64', [[[silent]], [[changed]]]);
  expect(other!.loss).toBeCloseTo(one!.loss, 12);
});

describe('examples of one conversation', () => {
  const [first, second, third] = [someIds(8), someIds(5), someIds(3)];
  const [one, two, three] = [someIds(2), someIds(4), someIds(3)];
  const conversation: readonly TokenExample[] = [
    { promptIds: [...first, ...one, ...second, ...two, ...third], completionIds: three, weight: 1 },
    { promptIds: first, completionIds: one, weight: 1 },
    { promptIds: [...first, ...one, ...second], completionIds: two, weight: 1 },
  ];
  const stranger = { promptIds: someIds(9), completionIds: someIds(4), weight: 1 };

  it('are joined into one example that trains only the replies', () => {
    const joined = joinExamples([...conversation, stranger]);
    expect(joined).toHaveLength(2);
    expect(joined[0]).toEqual({
      promptIds: first,
      completionIds: [...one, ...second, ...two, ...third, ...three],
      trained: [one, second, two, third, three].flatMap((ids, i) => ids.map(() => i % 2 === 0)),
      weight: 1,
    });
    expect(joined[1]).toMatchObject(stranger);
  });

  it('stay separate if a reply or its weight differs', () => {
    const [last, ...before] = conversation;
    const other = before.map((example) => ({ ...example, completionIds: someIds(6) }));
    expect(joinExamples([last!, ...other])).toHaveLength(3);
    expect(joinExamples([{ ...last!, weight: 2 }, ...before])).toHaveLength(2);
  });

  it('include the text between replies in training if that text has a weight', async () => {
    const [joined] = joinExamples(conversation, 0.25);
    expect(joined!.trained).toBeUndefined();
    const between = [...one.map(() => 1), ...second.map(() => 0.25), ...two.map(() => 1)];
    expect(joined!.factors).toEqual([...between, ...third.map(() => 0.25), ...three.map(() => 1)]);
    const weights = sftInputs([joined!])(joined!).weights as readonly number[];
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
    expect(weights[one.length]! / weights[0]!).toBeCloseTo(0.25, 12);
  });

  it('have the same loss and gradients whether joined or separate', async () => {
    const config = readDecoderConfig(referenceDirectory('qwen3-fp32'));
    const all = [...conversation, stranger];
    const settings = { packing: 'conversations', batchTokens: 1000 } as const;
    const [alone, joined] = await sumOverParts(config, { kind: 'all' }, 'float64', [
      layOut(all, { ...settings, packing: 'none' }),
      layOut(joinExamples(all), settings),
    ]);
    expect(joined!.loss).toBeCloseTo(alone!.loss, 9);
    for (const [parameter, gradient] of joined!.gradients)
      expect(relativeDistance(gradient, alone!.gradients.get(parameter)!), parameter).toBeLessThan(1e-9);
  });
});
