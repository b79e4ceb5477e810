import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cacheShape, KeyValueCache } from '../../../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../../../src/models/local/generation/engine.js';
import { buildInferenceGraph } from '../../../../src/models/local/graph/decoder.js';
import type { BuiltGraph } from '../../../../src/models/local/graph/graph.js';
import { packedParameters, packWeights } from '../../../../src/models/local/graph/packed-parameters.js';
import { storedParameters } from '../../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { referenceDirectory } from '../fixture.js';

const count = ({ graph }: BuiltGraph, op: string) => graph.nodes.filter((node) => node.op === op).length;

/** A copy with 4-bit weights, and its graphs: as served, and with one product per module. */
function models(name: string) {
  const path = temporaryDirectory();
  cpSync(referenceDirectory(name), path, { recursive: true });
  const config = readDecoderConfig(path);
  const weights = openWeights(path);
  const served = buildGraph({ path, quantization: 'int4' }, config, weights);
  const packed = packWeights(path, config, weights, 'int4')!;
  const apart = buildInferenceGraph(config, (g) =>
    packedParameters(g, packed, storedParameters(g, weights, 'float32')),
  );
  return { config, served, apart };
}

test.each(['qwen2-tied-bf16-sharded', 'llama-untied-fp32'])(
  '%s: fusing q, k and v, and gate and up, saves products and keeps the logits bit for bit',
  async (name) => {
    const { config, served, apart } = models(name);
    expect(count(apart, 'MatMulNBits')).toBe(7 * config.layers.length + 1);
    expect(count(served, 'MatMulNBits')).toBe(4 * config.layers.length + 1);
    const logits = async (graph: BuiltGraph) => {
      const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
      const shape = cacheShape(config);
      const ids = Array.from({ length: 20 }, (_, i) => 3 + ((i * 37) % 400));
      const [promptCache, ownCache] = [new KeyValueCache(shape), new KeyValueCache(shape)];
      const output = await session.forward({
        ids,
        rows: 1,
        position: 0,
        promptCache,
        ownCache,
        logitIndices: [9, 19],
      });
      const found = output.logits.slice();
      await session.close();
      return found;
    };
    expect(await logits(served)).toEqual(await logits(apart));
  },
);

test('the graph of several layers returns only two tensors and rotates all heads of a layer at once', () => {
  const { config, served } = models('qwen2-tied-bf16-sharded');
  expect(config.layers.length).toBeGreaterThan(1);
  expect(served.graph.outputs.map(({ name }) => name)).toEqual(['logits', 'entries']);
  const { nodes } = served.graph;
  const swapped = nodes.filter(
    ({ op, inputs }) =>
      op === 'Concat' &&
      inputs.length === 2 &&
      nodes.some((n) => n.op === 'Split' && n.outputs[1] === inputs[0] && n.outputs[0] === inputs[1]),
  );
  expect(swapped).toHaveLength(config.layers.length);
});
