import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeBatch } from '../../../finetune/engine/batch.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import {
  familyDirectory,
  readFamily,
  recurrentFamilies,
  referenceFamilies,
} from '../../models/local/reference-families.js';
import { relativeDistance } from '../reference-training.js';
import { gradientsIn, openSft, startOf } from './peft.js';

function adapterOf(name: string): TrainableSpec {
  const { rank, alpha, modules } = readFamily(name).training;
  const lora = { rank, alpha, modules, dropout: 0, rankStabilized: false };
  return { kind: 'adapter', lora, base: openWeights(familyDirectory(name)) };
}

it.each(recurrentFamilies)("%s can't be trained, and the error suggests alternatives", (name) => {
  const config = readDecoderConfig(familyDirectory(name));
  for (const kind of [{ kind: 'all' } as const, adapterOf(name)])
    expect(() => trainedParameters(config, kind)).toThrow(
      /^model: .* can't be trained.*\n.*--to trl.*\n.*\n.*e\.g\. Qwen3/,
    );
});

describe.each(referenceFamilies)('%s', (name) => {
  const directory = familyDirectory(name);
  const { training } = readFamily(name);

  it.each(['float32', 'float64'] as const)("gives PEFT's loss and gradients in %s", async (precision) => {
    const config = readDecoderConfig(directory);
    const trainable = adapterOf(name);
    const parameters = startOf(directory, config, trainable, precision);
    const examples = training.examples.map(({ prompt_ids, completion_ids }) => ({
      promptIds: prompt_ids,
      completionIds: completion_ids,
      weight: 1,
    }));
    const session = await openSft(config, trainable, precision);
    const batch = makeBatch(singleFamilies(examples), sftInputs(examples));
    const { loss, gradients } = await session.run(parameters, batch, 0);
    await session.close();
    const expected = gradientsIn(path.join(directory, 'gradients.safetensors'));
    expect(Math.abs(loss - training.loss)).toBeLessThan(2e-5);
    expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort());
    const errors = [...gradients].map(([key, gradient]) => relativeDistance(gradient, expected.get(key)!));
    expect(Math.max(...errors)).toBeLessThan(1e-4);
  });
});
