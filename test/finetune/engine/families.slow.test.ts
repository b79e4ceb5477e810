import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeBatch } from '../../../finetune/engine/batch.js';
import { type Trainable, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import { openTrainingSession, type Parameter } from '../../../finetune/engine/training-session.js';
import { sft, sftInputs } from '../../../finetune/train/objectives/answers.js';
import { alone } from '../../../finetune/train/packing.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { adapterPrefix } from '../../../src/models/local/graph/adapter.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { readSafetensors } from '../../../src/models/local/weights/safetensors.js';
import {
  familyDirectory,
  readFamily,
  recurrentFamilies,
  referenceFamilies,
} from '../../models/local/reference-families.js';
import { adapterValues, relativeDistance, values } from '../reference-training.js';

function adapterOf(name: string): Trainable {
  const { rank, alpha, modules } = readFamily(name).training;
  const lora = { rank, alpha, modules, dropout: 0, rankStabilized: false };
  return { kind: 'adapter', lora, base: openWeights(familyDirectory(name)) };
}

it.each(recurrentFamilies)('%s can’t be trained, and the error suggests alternatives', (name) => {
  const config = readDecoderConfig(familyDirectory(name));
  for (const kind of [{ kind: 'all' } as const, adapterOf(name)])
    expect(() => trainedParameters(config, kind)).toThrow(
      /^model: .* can't be trained.*\n.*\n.*e\.g\. Qwen3.*\n.*--to trl/,
    );
});

describe.each(referenceFamilies)('%s', (name) => {
  const directory = familyDirectory(name);
  const { training } = readFamily(name);

  it.each(['float32', 'float64'] as const)('has PEFT’s loss and gradients in %s', async (precision) => {
    const config = readDecoderConfig(directory);
    const trainable = adapterOf(name);
    const start = adapterValues(path.join(directory, 'adapter-start'));
    const parameters = trainedParameters(config, trainable).map(
      (one): Parameter => ({
        ...one,
        values: precision === 'float32' ? start.get(one.name)! : Float64Array.from(start.get(one.name)!),
      }),
    );
    const examples = training.examples.map(({ prompt_ids, completion_ids }) => ({
      promptIds: prompt_ids,
      completionIds: completion_ids,
      weight: 1,
    }));
    const graph = buildTrainingGraph({ config, trainable, objective: sft, precision, purpose: 'train' });
    const session = await openTrainingSession(graph, {
      device: 'cpu',
      threads: 1,
      optimize: precision === 'float32',
    });
    const { loss, gradients } = await session.run(
      parameters,
      makeBatch(alone(examples), sftInputs(examples)),
      0,
    );
    await session.close();
    const { tensors } = readSafetensors(path.join(directory, 'gradients.safetensors'));
    const expected = values(
      new Map(tensors.map((tensor) => [tensor.name.slice(adapterPrefix.length), tensor])),
    );
    expect(Math.abs(loss - training.loss)).toBeLessThan(2e-5);
    expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort());
    const errors = [...gradients].map(([key, gradient]) => relativeDistance(gradient, expected.get(key)!));
    expect(Math.max(...errors)).toBeLessThan(1e-4);
  });
});
