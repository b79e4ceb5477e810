import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeBatch } from '../../../finetune/engine/batch.js';
import { initialAdapter, writeAdapter } from '../../../finetune/engine/first-values.js';
import { adamWStep, zeroMoments } from '../../../finetune/engine/optimisers.js';
import {
  type LoraSettings,
  type TrainableSpec,
  trainedParameters,
} from '../../../finetune/engine/trainable.js';
import { mergeAdapter } from '../../../finetune/export/merged/merge.js';
import { sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { readAdapter } from '../../../src/models/local/graph/adapter.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { lastLogits } from '../../support/last-logits.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import {
  adapterValues,
  largestDifference,
  readReferenceTraining,
  relativeDistance,
} from '../reference-training.js';
import { openSft, startOf } from './peft.js';

const folder = temporaryDirectory();

describe.each(referenceModels)('%s', (name) => {
  const directory = referenceDirectory(name);
  const config = readDecoderConfig(directory);
  const reference = readReferenceTraining(name);
  const trained = path.join(folder, name);

  it("12 AdamW steps give PEFT's losses and adapter", async () => {
    const trainable: TrainableSpec = { kind: 'adapter', lora: reference.lora, base: openWeights(directory) };
    const parameters = startOf(directory, config, trainable);
    const moments = parameters.map(zeroMoments);
    const session = await openSft(config, trainable, 'float32');
    const batch = makeBatch(singleFamilies(reference.examples), sftInputs(reference.examples));
    const { lr, betas, eps, weight_decay: weightDecay } = reference.adamw;
    const losses: number[] = [];
    for (let step = 1; step <= 12; step++) {
      const { loss, gradients } = await session.run(parameters, batch, 0);
      losses.push(loss);
      parameters.forEach(({ name: key, values }, i) => {
        adamWStep(values, gradients.get(key)!, moments[i]!, lr, step, { betas, epsilon: eps, weightDecay });
      });
    }
    await session.close();
    expect(largestDifference(losses, reference.losses)).toBeLessThan(1e-4);
    const after = adapterValues(path.join(directory, 'adapter-after-12-steps'));
    for (const { name: key, values } of parameters)
      expect(relativeDistance(values, after.get(key)!), key).toBeLessThan(1e-3);
    writeAdapter(trained, parameters, reference.lora, name);
  });

  it("the reloaded adapter gives PEFT's merged logits", async () => {
    const logits = await lastLogits(directory, reference.promptIds, { adapter: trained });
    expect(largestDifference(logits, reference.mergedLogits)).toBeLessThan(1e-3);
  });

  it("the model merged in float32 gives PEFT's logits and keeps the tokenizer files", async () => {
    const merged = path.join(folder, `${name}-merged`);
    await mergeAdapter(directory, readAdapter(trained), merged, 'f32');
    const logits = await lastLogits(merged, reference.promptIds);
    expect(largestDifference(logits, reference.mergedLogits)).toBeLessThan(1e-3);
    expect(differingFiles(directory, merged)).toEqual(name.includes('bf16') ? ['config.json'] : []);
  });

  it("the model merged in its stored dtype gives PEFT's logits up to rounding", async () => {
    const merged = path.join(folder, `${name}-stored`);
    await mergeAdapter(directory, readAdapter(trained), merged, 'stored');
    const logits = await lastLogits(merged, reference.promptIds);
    const bound = name.includes('bf16') ? 0.1 : 1e-3;
    expect(largestDifference(logits, reference.mergedLogits)).toBeLessThan(bound);
    expect(differingFiles(directory, merged)).toEqual([]);
    const shapes = (model: string) =>
      [...openWeights(model).values()].map(({ name: key, dtype, shape }) => ({ key, dtype, shape }));
    expect(shapes(merged)).toEqual(shapes(directory));
  });
});

/** Names the config, tokenizer and template files that differ. */
function differingFiles(model: string, merged: string): string[] {
  return readdirSync(model)
    .filter((file) => /\.(json|jinja)$/.test(file))
    .filter((file) => !readFileSync(path.join(merged, file)).equals(readFileSync(path.join(model, file))));
}

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const hasPeft = spawnSync(python, ['-c', 'import torch, peft, transformers']).status === 0;

describe.skipIf(!hasPeft)('PEFT (needs Python with torch, transformers and peft: POLICYLOOP_PYTHON)', () => {
  const model = referenceDirectory('qwen2-tied-bf16-sharded');
  const lora: LoraSettings = {
    rank: 3,
    alpha: 5,
    dropout: 0.1,
    rankStabilized: true,
    modules: ['q_proj', 'v_proj', 'down_proj'],
  };
  const trainable: TrainableSpec = { kind: 'adapter', lora, base: openWeights(model) };
  const random = createGenerator(11);
  const parameters = initialAdapter(trainedParameters(readDecoderConfig(model), trainable), 1).map(
    ({ values, ...one }) => ({ ...one, values: values.map((value) => value + random.normal(0, 0.1)) }),
  );

  it('computes the same logits as we do from our adapter and from our merged model', async () => {
    const adapter = path.join(folder, 'for-peft');
    const merged = path.join(folder, 'for-transformers');
    writeAdapter(adapter, parameters, lora, model);
    await mergeAdapter(model, readAdapter(adapter), merged, 'f32');
    const ids = readReferenceTraining('qwen2-tied-bf16-sharded').promptIds;
    const script = path.join(import.meta.dirname, '../peft-logits.py');
    const output = execFileSync(python, [script, model, adapter, merged, JSON.stringify(ids)], {
      encoding: 'utf8',
    });
    const theirs = JSON.parse(output) as { adapter: number[]; merged: number[] };
    const ours = await lastLogits(model, ids, { adapter: adapter });
    const plain = await lastLogits(model, ids);
    expect(largestDifference(ours, plain)).toBeGreaterThan(0.01);
    expect(largestDifference(ours, theirs.adapter)).toBeLessThan(1e-4);
    expect(largestDifference(ours, theirs.merged)).toBeLessThan(1e-4);
  }, 120_000);
});
