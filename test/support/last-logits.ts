/** What a model says behind a prompt, however it is loaded. */
import { cacheShape, KeyValueCache } from '../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../src/models/local/generation/engine.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../src/models/local/weights/quantization.js';

export interface Loaded {
  /** Directory of an adapter that is part of the model. */
  readonly adapter?: string;
  readonly quantization?: Quantization;
}

/** Logits [V] behind the last token, in a session of one thread. */
export async function lastLogits(
  model: string,
  ids: readonly number[],
  loaded: Loaded = {},
): Promise<Float32Array> {
  const { adapter, quantization = 'none' } = loaded;
  const config = readDecoderConfig(model);
  const weights = openWeights(model);
  const graph = buildGraph({ path: model, adapter, quantization }, config, weights);
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    promptCache: new KeyValueCache(shape),
    ownCache: new KeyValueCache(shape),
    logitIndices: [ids.length - 1],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}
