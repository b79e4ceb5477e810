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
  type DecoderBuild,
  emitBias,
  emitRotation,
  emitShapes,
  type Places,
  type Rotation,
  rmsNorm,
} from './attention.js';
import { type BuiltGraph, GraphBuilder, type Value } from './graph.js';
import type { ParameterSource } from './parameters.js';

export interface DecoderInputs extends Places {
  /** int32 [B, S] */
  readonly ids: Value;
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
export function buildDecoder(build: DecoderBuild, inputs: DecoderInputs): DecoderOutputs {
  const { g, config, parameters } = build;
  const shapes = emitShapes(build, inputs.ids);
  const rotations = new Map<string, Rotation>();
  const biases = new Map<number | undefined, Value>();
  let hidden = g.op('Reshape', [parameters.embed('model.embed_tokens', inputs.ids), shapes.flat]);
  const keys: Value[] = [];
  const values: Value[] = [];
  config.layers.forEach((layer, index) => {
    const module = `model.layers.${index}`;
    const rope = JSON.stringify(layer.rope);
    const rotation = rotations.get(rope) ?? emitRotation(build, layer, inputs.positions);
    const bias = biases.get(layer.window) ?? emitBias(build, layer.window, inputs, shapes);
    rotations.set(rope, rotation);
    biases.set(layer.window, bias);
    const normed = rmsNorm(build, hidden, `${module}.input_layernorm.weight`);
    const attended = attention(build, `${module}.self_attn`, normed, {
      shapes,
      rotation,
      bias,
      segments: inputs.cache[index] ?? [],
    });
    keys.push(attended.keys);
    values.push(attended.values);
    hidden = g.op('Add', [hidden, attended.output]);
    const renormed = rmsNorm(build, hidden, `${module}.post_attention_layernorm.weight`);
    hidden = g.op('Add', [hidden, feedForward(build, `${module}.mlp`, renormed)]);
  });
  return { hidden, keys, values };
}

/**
 * Logits [R, V] of chosen rows of the hidden state.
 * @param rows int32 [R] indices into N
 */
export function languageHead(build: DecoderBuild, hidden: Value, rows: Value): Value {
  const chosen = build.g.op('Gather', [hidden, rows], { axis: 0 });
  const normed = rmsNorm(build, chosen, 'model.norm.weight');
  return build.parameters.linear(build.config.tied ? 'model.embed_tokens' : 'lm_head', normed, false);
}

/** down(silu(gate(x)) · up(x)) (Shazeer 2020). */
function feedForward({ g, config, parameters }: DecoderBuild, module: string, x: Value): Value {
  const gate = parameters.linear(`${module}.gate_proj`, x, config.bias.mlp);
  const up = parameters.linear(`${module}.up_proj`, x, config.bias.mlp);
  const silu = g.op('Mul', [gate, g.op('Sigmoid', [gate])]);
  return parameters.linear(`${module}.down_proj`, g.op('Mul', [silu, up]), config.bias.mlp);
}

/**
 * The graph that prefills and decodes. Two cached segments come before the new tokens: the prompt, shared by all
 * candidates, and the tokens that each candidate has generated. The caller keeps the new keys and values.
 */
export function buildInferenceGraph(
  config: DecoderConfig,
  parametersOf: (g: GraphBuilder) => ParameterSource,
): BuiltGraph {
  const g = new GraphBuilder();
  const build = { g, config, parameters: parametersOf(g), precision: 'float32' } as const;
  const ids = g.input('ids', 'int32', ['B', 'S']);
  const positions = g.input('positions', 'int32', ['S']);
  const cachedPositions = g.input('cached_positions', 'int32', ['T']);
  const rows = g.input('rows', 'int32', ['R']);
  const segment = (kind: 'prompt' | 'own', batch: number | string, tokens: string) => {
    const shape = [config.kvHeads, batch, tokens, config.headDim];
    const inputs = config.layers.map((_, layer) => ({
      keys: g.input(`${kind}_keys.${layer}`, 'float32', shape),
      values: g.input(`${kind}_values.${layer}`, 'float32', shape),
    }));
    const length = g.op('Slice', [g.op('Shape', [inputs[0]!.keys]), g.integers([2]), g.integers([3])]);
    return inputs.map((pair) => ({ ...pair, length, shared: kind === 'prompt' }));
  };
  const prompt = segment('prompt', 1, 'T1');
  const own = segment('own', 'B', 'T2');
  const cache = prompt.map((pair, layer) => [pair, own[layer]!]);
  const decoder = buildDecoder(build, { ids, positions, cachedPositions, cache });
  g.output('logits', languageHead(build, decoder.hidden, rows), 'float32', ['R', config.vocabulary]);
  const shape = [config.kvHeads, 'B', 'S', config.headDim];
  for (const [layer, value] of decoder.keys.entries()) g.output(`new_keys.${layer}`, value, 'float32', shape);
  for (const [layer, value] of decoder.values.entries())
    g.output(`new_values.${layer}`, value, 'float32', shape);
  return g.build('decode');
}
