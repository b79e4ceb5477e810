/**
 * The one definition of a Llama-family decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU. It emits
 * plain ONNX operators through a GraphBuilder; what differs between the graphs that use it (cached keys and values,
 * quantised or adapted projections, the precision) comes in from outside.
 *
 * Shapes: B rows (batch), S new tokens a row, N = B·S, H hidden, V vocabulary; g = heads / kvHeads.
 * Keys and values have the layout [kvHeads, B, tokens, headDim], queries [kvHeads, B, g·S, headDim]: the query heads
 * that share a key head are rows of one matrix product, so nothing is repeated.
 */
import {
  attention,
  type CachedSegment,
  emitBias,
  emitRotation,
  emitShapes,
  type Packing,
  type Rotation,
} from './attention.js';
import type { GraphBuilder, Precision, Value } from './graph.js';
import type { DecoderConfig } from './hf-config.js';
import type { ParameterSource } from './parameters.js';
import { rmsNorm } from './rms-norm.js';

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
