import { buildDecoder, languageHead } from './decoder.js';
import { type BuiltGraph, GraphBuilder, type Value } from './graph.js';
import type { DecoderConfig } from './hf-config.js';
import type { ParameterSource } from './parameters.js';

/**
 * The graph that prefills and decodes. Two cached segments come before the new tokens: the prompt, shared by all
 * candidates, and what each candidate has generated. The new keys and values come back; the caller keeps them.
 */
export function buildInferenceGraph(
  config: DecoderConfig,
  parametersOf: (g: GraphBuilder) => ParameterSource,
): BuiltGraph {
  const g = new GraphBuilder();
  const parameters = parametersOf(g);
  const ids = g.input('ids', 'int32', ['B', 'S']);
  const positions = g.input('positions', 'int32', ['S']);
  const cachedPositions = g.input('cached_positions', 'int32', ['T']);
  const rows = g.input('rows', 'int32', ['R']);
  const segment = (kind: 'prompt' | 'own', batch: number | string) => {
    const tokens = kind === 'prompt' ? 'T1' : 'T2';
    const inputs = config.layers.map((_, layer) => {
      const shape = [config.kvHeads, batch, tokens, config.headDim];
      return {
        keys: g.input(`${kind}_keys.${layer}`, 'float32', shape),
        values: g.input(`${kind}_values.${layer}`, 'float32', shape),
      };
    });
    const length = lengthOf(g, inputs[0]!.keys);
    return inputs.map((pair) => ({ ...pair, length, shared: kind === 'prompt' }));
  };
  const prompt = segment('prompt', 1);
  const own = segment('own', 'B');
  const decoder = buildDecoder(
    g,
    config,
    parameters,
    { ids, positions, cachedPositions, cache: prompt.map((pair, layer) => [pair, own[layer]!]) },
    'float32',
  );
  g.output('logits', languageHead(g, config, parameters, decoder.hidden, rows, 'float32'), 'float32', [
    'R',
    config.vocabulary,
  ]);
  const shape = [config.kvHeads, 'B', 'S', config.headDim];
  decoder.keys.forEach((value, layer) => {
    g.output(`new_keys.${layer}`, value, 'float32', shape);
  });
  decoder.values.forEach((value, layer) => {
    g.output(`new_values.${layer}`, value, 'float32', shape);
  });
  return g.build('decode');
}

function lengthOf(g: GraphBuilder, keys: Value): Value {
  return g.op('Slice', [g.op('Shape', [keys]), g.integers([2]), g.integers([3])]);
}
