import { expect, it } from 'vitest';
import { KeyValueCache } from '../../../src/models/local/engine/key-value-cache.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { PromptCaches } from '../../../src/models/local/generation/prompt-caches.js';

it('cached keys and values of prompts are evicted in least-recently-used order', async () => {
  const caches = new PromptCaches(() => new KeyValueCache({ layers: 1, kvHeads: 1, headDim: 2 }), {
    maxRequests: 1,
    maxTokens: 100,
    hasStates: false,
  });
  const placeOf = (conversation: string) => caches.lookUp({ conversation, isLong: false }, [7]);
  const seen = new Set<unknown>();
  for (const conversation of ['a', 'b', 'c', 'd', 'e']) {
    const held = await placeOf(conversation);
    const entries = [new ort.Tensor('float32', [1, 2], [1, 1, 1, 2])];
    void held.cache.append({ keys: entries, values: entries, tokens: 1 });
    held.tokens = [7];
    seen.add(await placeOf('a'));
  }
  expect(seen.size).toBe(1);
  // The second gave its memory to the fifth.
  expect((await placeOf('a')).tokens).toEqual([7]);
  expect((await placeOf('b')).tokens).toEqual([]);
  const fresh = await placeOf('f');
  expect(fresh.tokens).toEqual([]);
  expect(fresh.cache.length).toBe(0);
});
