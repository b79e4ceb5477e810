/**
 * The one definition of a Llama-family decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU. It emits
 * plain ONNX operators through a GraphBuilder; what differs between the graphs that use it (cached keys and values,
 * quantised or adapted projections, the precision) comes in from outside.
 *
 * Shapes: B rows (batch), S new tokens a row, N = B·S, H hidden, V vocabulary; g = heads / kvHeads.
 * Keys and values have the layout [kvHeads, B, tokens, headDim], queries [kvHeads, B, g·S, headDim]: the query heads
 * that share a key head are rows of one matrix product, so nothing is repeated.
 */

import type { DecoderConfig } from '../weights/hf-config.js';
import {
  attention,
  type CachedSegment,
  emitBias,
  emitRotation,
  emitShapes,
  type Packing,
  type Rotation,
  rmsNorm,
} from './attention.js';
import { type BuiltGraph, GraphBuilder, type Precision, type Value } from './graph.js';
import type { ParameterSource } from './parameters.js';

export interface DecoderInputs {
  /** int32 [B, S] */
  readonly ids: Value;
  /** int32 [S], or [B, S] where rows differ: place of each new token in its sequence. */
  readonly positions: Value;
  /** For rows that hold several sequences; positions are then [B, S] and nothing is cached. */
  readonly packing?: Packing;
  /**
   * int32 [T₁ + T₂ + …]: place of each cached key, segment after segment. A key at a place later than a query is
   * masked, so spare capacity is marked by a place beyond any context. Undefined without segments.
   */
  readonly cachedPositions?: Value;
  /** Cached segments of each layer, oldest first. */
  readonly cache: readonly (readonly CachedSegment[])[];
}

export interface DecoderOutputs {
  /** [N, H], before the final norm. */
  readonly hidden: Value;
  /** Keys (rotated) and values of the new tokens, per layer: [kvHeads, B, S, headDim]. */
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
}

/** Emits all layers. The head is apart (`languageHead`), since only the rows that are read should pay for it. */
export function buildDecoder(
  g: GraphBuilder,
  config: DecoderConfig,
  parameters: ParameterSource,
  inputs: DecoderInputs,
  precision: Precision,
): DecoderOutputs {
  const shapes = emitShapes(g, config, inputs.ids);
  const rotations = new Map<string, Rotation>();
  const biases = new Map<number | undefined, Value>();
  let hidden = g.op('Reshape', [parameters.embed('model.embed_tokens', inputs.ids), shapes.flat]);
  const keys: Value[] = [];
  const values: Value[] = [];
  config.layers.forEach((layer, index) => {
    const module = `model.layers.${index}`;
    const rotation = cached(rotations, JSON.stringify(layer.rope), () =>
      emitRotation(g, layer, config.headDim, inputs.positions, precision),
    );
    const bias = cached(biases, layer.window, () =>
      emitBias(g, config, layer.window, inputs, shapes, precision),
    );
    const normed = rmsNorm(
      g,
      hidden,
      parameters.vector(`${module}.input_layernorm.weight`),
      config,
      precision,
    );
    const attended = attention(g, config, parameters, `${module}.self_attn`, normed, {
      shapes,
      rotation,
      bias,
      segments: inputs.cache[index] ?? [],
      precision,
    });
    keys.push(attended.keys);
    values.push(attended.values);
    hidden = g.op('Add', [hidden, attended.output]);
    const scale = parameters.vector(`${module}.post_attention_layernorm.weight`);
    hidden = g.op('Add', [
      hidden,
      feedForward(g, config, parameters, `${module}.mlp`, rmsNorm(g, hidden, scale, config, precision)),
    ]);
  });
  return { hidden, keys, values };
}

/**
 * Logits [R, V] of chosen rows of the hidden state.
 * @param rows int32 [R] indices into N
 */
export function languageHead(
  g: GraphBuilder,
  config: DecoderConfig,
  parameters: ParameterSource,
  hidden: Value,
  rows: Value,
  precision: Precision,
): Value {
  const chosen = g.op('Gather', [hidden, rows], { axis: 0 });
  const normed = rmsNorm(g, chosen, parameters.vector('model.norm.weight'), config, precision);
  return parameters.linear(config.tied ? 'model.embed_tokens' : 'lm_head', normed, false);
}

/** down(silu(gate(x)) · up(x)) (Shazeer 2020). */
function feedForward(
  g: GraphBuilder,
  config: DecoderConfig,
  parameters: ParameterSource,
  module: string,
  x: Value,
): Value {
  const gate = parameters.linear(`${module}.gate_proj`, x, config.bias.mlp);
  const up = parameters.linear(`${module}.up_proj`, x, config.bias.mlp);
  const silu = g.op('Mul', [gate, g.op('Sigmoid', [gate])]);
  return parameters.linear(`${module}.down_proj`, g.op('Mul', [silu, up]), config.bias.mlp);
}

function cached<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

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
