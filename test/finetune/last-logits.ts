import { KeyValueCache } from '../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../src/models/local/engine/runtime.js';
import { readAdapter } from '../../src/models/local/graph/adapter.js';
import { buildInferenceGraph } from '../../src/models/local/graph/decoder.js';
import { adapterParameters } from '../../src/models/local/graph/lora.js';
import { storedParameters } from '../../src/models/local/graph/parameters.js';
import { readDecoderConfig } from '../../src/models/local/weights/hf-config.js';
import { openWeights } from '../../src/models/local/weights/safetensors.js';

/** Logits after the last token, of a model with or without an adapter. */
export async function lastLogits(
  model: string,
  ids: readonly number[],
  adapterDirectory?: string,
): Promise<Float32Array> {
  const config = readDecoderConfig(model);
  const weights = openWeights(model);
  const graph = buildInferenceGraph(config, (g) => {
    const base = storedParameters(g, weights, 'float32');
    return adapterDirectory === undefined
      ? base
      : adapterParameters(g, readAdapter(adapterDirectory), base, weights, 'float32');
  });
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = { layers: config.layers.length, kvHeads: config.kvHeads, headDim: config.headDim };
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    prompt: new KeyValueCache(shape),
    own: new KeyValueCache(shape),
    logitsOf: [ids.length - 1],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}
