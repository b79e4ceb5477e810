import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeBatch, type TokenExample } from '../../../finetune/engine/batch.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import type { Parameter } from '../../../finetune/engine/training-session.js';
import { sft, sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { readReferenceTraining, relativeDistance } from '../reference-training.js';
import { gradientsIn, openSft, startOf } from './peft.js';

describe.each(referenceModels)('%s', (name) => {
  const directory = referenceDirectory(name);
  const config = readDecoderConfig(directory);
  const reference = readReferenceTraining(name);
  const trainable: TrainableSpec = { kind: 'adapter', lora: reference.lora, base: openWeights(directory) };
  const batch = makeBatch(singleFamilies(reference.examples), sftInputs(reference.examples));
  const expected = gradientsIn(path.join(directory, 'gradients-step0.safetensors'));

  it.each(['float32', 'float64'] as const)("gives PEFT's loss and gradients in %s", async (precision) => {
    const parameters = startOf(directory, config, trainable, precision);
    const session = await openSft(config, trainable, precision);
    const { loss, gradients } = await session.run(parameters, batch, 0);
    await session.close();
    expect(Math.abs(loss - reference.losses[0]!)).toBeLessThan(1e-5);
    expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort());
    const errors = [...gradients].map(([key, gradient]) => relativeDistance(gradient, expected.get(key)!));
    // PEFT's gradients are float32, so even exact gradients would differ from them by their rounding errors.
    expect(Math.max(...errors)).toBeLessThan(1e-5);
  });
});

/** Compares gradients of random elements of every parameter with central differences. */
async function gradientError(
  config: DecoderConfig,
  trainable: TrainableSpec,
  examples: readonly TokenExample[],
) {
  const random = createGenerator(3);
  const parameters = trainedParameters(config, trainable).map(
    ({ name, shape }): Parameter => ({
      name,
      shape,
      values: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal(0, 0.3)),
    }),
  );
  const batch = makeBatch(singleFamilies(examples), sftInputs(examples));
  const session = await openSft(config, trainable, 'float64');
  const { gradients } = await session.run(parameters, batch, 5);
  let largest = 0;
  for (const { name, values: numbers } of parameters) {
    const place = random.integers(0, numbers.length);
    const middle = numbers[place]!;
    const lossAt = async (x: number) => {
      numbers[place] = x;
      return (await session.run(parameters, batch, 5)).loss;
    };
    const slope = ((await lossAt(middle + 1e-5)) - (await lossAt(middle - 1e-5))) / 2e-5;
    numbers[place] = middle;
    const error = Math.abs(slope - gradients.get(name)![place]!) / Math.max(1, Math.abs(slope));
    largest = Math.max(largest, error);
  }
  await session.close();
  return largest;
}

const examples: readonly TokenExample[] = [
  { promptIds: [1, 4, 4, 9], completionIds: [3, 7, 2], weight: 1 },
  { promptIds: [1, 5], completionIds: [8, 2], weight: -0.5 },
];

describe('gradients of whole decoders match central differences in float64', () => {
  it.each(referenceModels)('when all weights of %s are trained', async (name) => {
    const config = readDecoderConfig(referenceDirectory(name));
    expect(await gradientError(config, { kind: 'all' }, examples)).toBeLessThan(1e-6);
  });

  it('when an adapter with dropout and rank-stabilised scaling is trained', async () => {
    const directory = referenceDirectory('qwen3-fp32');
    const lora = { ...readReferenceTraining('qwen3-fp32').lora, dropout: 0.3, rankStabilized: true };
    const trainable: TrainableSpec = { kind: 'adapter', lora, base: openWeights(directory) };
    expect(await gradientError(readDecoderConfig(directory), trainable, examples)).toBeLessThan(1e-6);
  });
});

describe('dropout', () => {
  const directory = referenceDirectory('llama-untied-fp32');
  const config = readDecoderConfig(directory);
  const openWith = async (dropout: number) => {
    const lora = { ...readReferenceTraining('llama-untied-fp32').lora, dropout };
    const trainable: TrainableSpec = { kind: 'adapter', lora, base: openWeights(directory) };
    const session = await openSft(config, trainable, 'float32');
    const parameters = startOf(directory, config, trainable);
    return {
      loss: async (seed: number) =>
        (
          await session.run(
            parameters,
            makeBatch(singleFamilies(examples), ({ weight }) => ({ weights: weight })),
            seed,
          )
        ).loss,
      close: () => session.close(),
    };
  };

  it('is determined by its seed and preserves the loss on average', async () => {
    const dropping = await openWith(0.02);
    const plain = await openWith(0);
    const losses: number[] = [];
    for (let seed = 0; seed < 200; seed++) losses.push(await dropping.loss(seed));
    expect(await dropping.loss(4)).toBe(losses[4]);
    expect(new Set(losses).size).toBeGreaterThan(190);
    const mean = losses.reduce((a, b) => a + b) / losses.length;
    const variance = losses.reduce((sum, loss) => sum + (loss - mean) ** 2, 0) / (losses.length - 1);
    expect(Math.abs(mean - (await plain.loss(0)))).toBeLessThan(4 * Math.sqrt(variance / losses.length));
    await dropping.close();
    await plain.close();
  });
});

describe('a result that is cheap to compute', () => {
  const config = readDecoderConfig(referenceDirectory('qwen3-fp32'));
  const settings = { config, trainable: { kind: 'all' }, objective: sft, precision: 'float32' } as const;
  const nodesOf = (device: string) =>
    buildTrainingGraph({ ...settings, purpose: 'train', device }).graph.nodes;
  const readersOf = (nodes: ReturnType<typeof nodesOf>, op: string) =>
    nodes
      .filter((node) => node.op === op)
      .map(({ outputs }) => nodes.filter(({ inputs }) => inputs.includes(outputs[0]!)).length);

  it.each(['Softmax', 'Sigmoid'])('is not kept for the backward pass on the CPU: %s', (op) => {
    const readers = readersOf(nodesOf('cpu'), op);
    // Prompts and replies attend separately.
    const count = (op === 'Softmax' ? 2 : 1) * config.layers.length;
    const forward = readers.slice(0, count);
    // The backward pass has its own.
    expect(readers).toHaveLength(2 * count);
    expect(forward.every((count) => count === 1)).toBe(true);
  });

  it('is kept on WebGPU: Softmax', () => {
    expect(readersOf(nodesOf('webgpu'), 'Softmax')).toHaveLength(2 * config.layers.length);
  });
});
