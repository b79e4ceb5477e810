/** What a model says behind a prompt, however it is loaded. */
import { adaptedModules, adapterInputs } from '../../src/models/local/engine/adapter-inputs.js';
import { cacheShape, KeyValueCache } from '../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../src/models/local/generation/engine.js';
import { openAdapter } from '../../src/models/local/graph/adapter.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../src/models/local/weights/quantization.js';

export interface Loaded {
  /** Directory of an adapter that is part of the model. */
  readonly adapter?: string;
  /** Directories of adapters that are inputs, of which `chosen` is fed. */
  readonly adapters?: readonly string[];
  readonly chosen?: number;
  readonly quantization?: Quantization;
}

/** Logits [V] behind the last token, in a session of one thread. */
export async function lastLogits(
  model: string,
  ids: readonly number[],
  loaded: Loaded = {},
): Promise<Float32Array> {
  const { adapter, adapters = [], chosen, quantization = 'none' } = loaded;
  const config = readDecoderConfig(model);
  const weights = openWeights(model);
  const all = adapters.map((directory) => openAdapter(directory, config));
  const modules = adaptedModules(all);
  const graph = buildGraph({ path: model, adapter, quantization }, config, weights, modules);
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    adapter: await adapterInputs(modules, weights, chosen === undefined ? undefined : all[chosen]),
    prompt: new KeyValueCache(shape),
    own: new KeyValueCache(shape),
    logitsOf: [ids.length - 1],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}
