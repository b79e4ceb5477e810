import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { cacheShape, KeyValueCache } from '../../../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../../src/models/local/graph/adapter.js';
import { buildInferenceGraph } from '../../../../src/models/local/graph/decoder.js';
import { adapterParameters } from '../../../../src/models/local/graph/lora.js';
import { storedParameters } from '../../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { largestDifference } from '../../../finetune/reference-training.js';
import { prefill } from '../prefill.js';
import { familyDirectory, readFamily, recurrentFamilies, referenceFamilies } from '../reference-families.js';

async function load(directory: string, adapted = false) {
  const config = readDecoderConfig(directory);
  const weights = openWeights(directory);
  const graph = buildInferenceGraph(config, (g) => {
    const base = storedParameters(g, weights, 'float32');
    if (!adapted) return base;
    const adapter = openAdapter(path.join(directory, 'adapter-start'), config);
    return adapterParameters(g, adapter, base, 'float32');
  });
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  return { session, shape: () => new KeyValueCache(shape) };
}

describe.each([...referenceFamilies, ...recurrentFamilies])('%s', (name) => {
  const directory = familyDirectory(name);
  const { prompts, training } = readFamily(name);

  it.each([1000, 7])(
    'gives the logits and greedy answers of Transformers, with prefill in chunks of %d',
    async (chunk) => {
      const { session, shape } = await load(directory);
      try {
        for (const { ids, last_logits, greedy_ids } of prompts) {
          const [cache, own] = [shape(), shape()];
          const sequenceTokens = ids.length + greedy_ids.length;
          let { logits, states } = await prefill(session, ids, chunk, cache, own, sequenceTokens);
          expect(largestDifference(logits, last_logits)).toBeLessThan(1e-4);
          own.reset(1);
          const greedy: number[] = [];
          for (const _ of greedy_ids) {
            const id = logits.indexOf(Math.max(...logits));
            greedy.push(id);
            const output = await session.forward({
              ids: [id],
              rows: 1,
              position: cache.length + own.length,
              promptCache: cache,
              ownCache: own,
              states,
              sequenceTokens,
              logitIndices: [0],
            });
            states = output.states;
            own.append(output.entries, 5);
            logits = Float32Array.from(output.logits);
          }
          expect(greedy).toEqual(greedy_ids);
        }
      } finally {
        await session.close();
      }
    },
  );

  it('gives the reference logits with an adapter that PEFT wrote', async () => {
    const { session, shape } = await load(directory, true);
    const { ids } = prompts[0]!;
    const { logits } = await prefill(session, ids, 1000, shape(), shape(), ids.length);
    await session.close();
    expect(largestDifference(logits, training.adapted_last_logits)).toBeLessThan(1e-4);
    expect(largestDifference(logits, prompts[0]!.last_logits)).toBeGreaterThan(1e-2);
  });
});
