import { expect, test } from 'vitest';
import { cacheShape, KeyValueCache } from '../../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { buildInferenceGraph } from '../../../src/models/local/graph/decoder.js';
import { storedParameters } from '../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { largestDifference } from '../../finetune/reference-training.js';
import { readReference, referenceDirectory, referenceModels } from './fixture.js';
import { prefill } from './prefill.js';

async function load(name: string) {
  const directory = referenceDirectory(name);
  const config = readDecoderConfig(directory);
  const weights = openWeights(directory);
  const graph = buildInferenceGraph(config, (g) => storedParameters(g, weights, 'float32'));
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  return { config, session, shape };
}

function argmax(values: Float32Array): number {
  return values.indexOf(values.reduce((a, b) => Math.max(a, b)));
}

for (const name of referenceModels) {
  test(`${name}: logits match the reference to 1e-4 and greedy ids exactly, with two chunk and batch sizes`, async () => {
    const reference = readReference(name);
    const { config, session, shape } = await load(name);
    try {
      for (const [chunk, rows] of [
        [1000, 1],
        [7, 3],
      ] as const) {
        const prompt = new KeyValueCache(shape);
        const own = new KeyValueCache(shape);
        let { logits } = await prefill(session, reference.prompt_ids, chunk, prompt, own);
        expect(largestDifference(logits, reference.last_logits)).toBeLessThan(1e-4);
        own.reset(rows);
        const greedy: number[] = [];
        for (let step = 0; step < reference.greedy_ids.length; step++) {
          const id = argmax(logits.subarray(0, config.vocabulary));
          greedy.push(id);
          const all = Array.from({ length: rows }, (_, row) => row);
          const output = await session.forward({
            ids: all.map(() => id),
            rows,
            position: prompt.length + own.length,
            promptCache: prompt,
            ownCache: own,
            logitIndices: all,
          });
          own.append(output.entries, 5);
          logits = output.logits;
        }
        expect(greedy).toEqual(reference.greedy_ids);
      }
    } finally {
      await session.close();
    }
  });
}

test('the logits at all positions match those of each prefix by itself', async () => {
  const { ids } = { ids: readReference('qwen3-fp32').prompt_ids.slice(0, 12) };
  const { config, session, shape } = await load('qwen3-fp32');
  try {
    const all = await session.forward({
      ids,
      rows: 1,
      position: 0,
      promptCache: new KeyValueCache(shape),
      ownCache: new KeyValueCache(shape),
      logitIndices: ids.map((_, i) => i),
    });
    for (let length = 1; length <= ids.length; length++) {
      const [prompt, own] = [new KeyValueCache(shape), new KeyValueCache(shape)];
      const { logits: alone } = await prefill(session, ids.slice(0, length), 1, prompt, own);
      const row = all.logits.subarray((length - 1) * config.vocabulary, length * config.vocabulary);
      expect(largestDifference(row, alone)).toBeLessThan(1e-4);
    }
  } finally {
    await session.close();
  }
});
