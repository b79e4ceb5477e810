/** A LoRA adapter trained on the blocks of a GGUF file. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeBatch } from '../../../finetune/engine/batch.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import { openTrainingSession } from '../../../finetune/engine/training-session.js';
import { sft, sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { BuiltGraph } from '../../../src/models/local/graph/graph.js';
import { packWeights } from '../../../src/models/local/graph/packed-parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { tokenizerMetadata, writeTestGguf } from '../../models/local/gguf/gguf-writer.js';
import { architectureMetadata, asDirectory, decoderTensors } from '../../models/local/gguf/random-gguf.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { relativeDistance } from '../reference-training.js';
import { exactProducts, lora, someAdapter } from './exact-products.js';

const folder = temporaryDirectory();
const example = { promptIds: [5, 8, 13, 21], completionIds: [34, 55, 89, 144, 233], weight: 1 };

test.each(['Q4_1', 'Q6_K', 'Q5_K', 'Q2_K'])('%s gradients match those of float32 weights', async (dtype) => {
  const metadata = { ...architectureMetadata(), ...tokenizerMetadata() };
  // The head is untied, because the dense graph doesn't round a tied one.
  const file = writeTestGguf(path.join(folder, `${dtype}.gguf`), metadata, decoderTensors(dtype, 'Q8_0'));
  const config = readDecoderConfig(file);
  const step = async (model: string, change: (built: BuiltGraph) => BuiltGraph) => {
    const base = openWeights(model);
    const quantized = packWeights(model, config, base, 'none');
    const trainable: TrainableSpec = { kind: 'adapter', lora, base, quantized };
    const graph = buildTrainingGraph({
      config,
      trainable,
      objective: sft,
      precision: 'float32',
      purpose: 'train',
    });
    const session = await openTrainingSession(change(graph), { device: 'cpu', threads: 1, optimize: true });
    const batch = makeBatch(singleFamilies([example]), sftInputs([example]));
    const result = await session.run(someAdapter(trainedParameters(config, trainable), 0.05), batch, 0);
    await session.close();
    return result;
  };
  const dense = await step(asDirectory(file, path.join(folder, dtype)), (built) => built);
  const packed = await step(file, exactProducts);
  expect(Math.abs(packed.loss - dense.loss)).toBeLessThan(1e-4 * Math.abs(dense.loss));
  expect(packed.gradients.size).toBe(dense.gradients.size);
  for (const [name, gradient] of packed.gradients)
    expect(relativeDistance(gradient, dense.gradients.get(name)!)).toBeLessThan(2e-3);
});
