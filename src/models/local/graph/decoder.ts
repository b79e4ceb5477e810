/**
 * The single definition of a decoder: norms, rotary positions, grouped-query attention or a recurrence, and a
 * feed-forward part. Differences between families are options of `DecoderConfig`. Parts that differ between graphs
 * are passed in: cached keys and values, quantised or adapted projections, and the precision.
 *
 * Shapes: B rows (batch), S new tokens per row, N = B·S, H hidden, V vocabulary; g = heads / kvHeads. Keys and
 * values have the layout [kvHeads, B, tokens, headDim], queries [kvHeads, B, g·S, headDim]: the query heads
 * that share a key head are rows of one matrix product, so keys and values aren't repeated.
 */
import { append } from '../../../base/append.js';
import {
  attentionLayers,
  type DecoderConfig,
  type LayerConfig,
  type Recurrence,
  stateShapes,
} from '../weights/decoder-config.js';
import { longRopeStart } from '../weights/rope.js';
import {
  attendToSegments,
  type CachedSegment,
  emitAttention,
  emitBias,
  emitShapes,
  type Qkv,
  type TokenPositions,
} from './attention.js';
import { emitBlockMixer, type TokenBlocks } from './blocks.js';
import { type BuiltGraph, GraphBuilder, type Value } from './graph.js';
import { applyCap, applyNorm, type DecoderBuild, type ParameterSource, scaleBy } from './parameters.js';
import { emitRecurrence } from './recurrence.js';
import { emitRotation, type Rotation } from './rotation.js';

export interface DecoderInputs extends TokenPositions {
  /** int32 [B, S] */
  readonly ids: Value;
  /** Cached segments of each layer with attention, oldest first. */
  readonly cache: readonly (readonly CachedSegment[])[];
  /** Set if one row (B = 1) contains the packed tokens of several sequences; then `cache` isn't used. */
  readonly blocks?: TokenBlocks;
  /** States before the new tokens, in the order of `stateShapes`; if undefined, the sequences start here. */
  readonly states?: readonly Value[];
}

export interface DecoderOutputs {
  /** [N, H], the input of the final norm. */
  readonly hidden: Value;
  /**
   * Keys (rotated) and values of the new tokens, per layer with attention: [kvHeads, B, S, headDim]. With `blocks`,
   * only those of the prompts: [kvHeads, F, P, headDim].
   */
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
  /** States after the new tokens, in the order of `stateShapes`. */
  readonly states: readonly Value[];
  /** The residual stream: [N, H] before the first layer and after each part of a layer. */
  readonly stream: readonly Value[];
}

/** Emits all layers, but not the head (`headLogits`), which only some rows need. */
export function emitDecoder(build: DecoderBuild, inputs: DecoderInputs): DecoderOutputs {
  const { g, config } = build;
  const { norms, layers: prefix } = config.modules;
  const shapes = emitShapes(build, inputs.ids);
  const blockMixer = inputs.blocks && emitBlockMixer(build, inputs.blocks);
  const rotations = new Map<string, Rotation>();
  const biases = new Map<number | undefined, Value>();
  let hidden = embedTokens(build, inputs, shapes.flat);
  const growth = emitQueryGrowth(build, inputs.positions);
  const keys: Value[] = [];
  const values: Value[] = [];
  const states: Value[] = [];
  const stream = [hidden];
  const rowMixer = (window: number | undefined, segments: readonly CachedSegment[]) => {
    const bias = biases.get(window) ?? emitBias(build, window, inputs);
    biases.set(window, bias);
    return (qkv: Qkv) => attendToSegments(build, { shapes, bias, segments }, qkv);
  };
  const attend = (layer: LayerConfig, module: string, x: () => Value) => {
    const rope = JSON.stringify(layer.rope);
    const rotation = layer.rope && (rotations.get(rope) ?? emitRotation(build, layer.rope, inputs));
    if (rotation !== undefined) rotations.set(rope, rotation);
    const mix = blockMixer?.(layer.window) ?? rowMixer(layer.window, inputs.cache[keys.length] ?? []);
    const result = emitAttention(build, module, x(), { shapes, rotation, growth, mix });
    keys.push(result.keys);
    values.push(result.values);
    return result.output;
  };
  const applyRecurrence = (recurrence: Recurrence, module: string, x: Value) => {
    const result = emitRecurrence(build, recurrence, module, x, shapes, inputs.states?.slice(states.length));
    append(states, result.states);
    return result.output;
  };
  config.layers.forEach((layer, index) => {
    const module = `${prefix}.${index}`;
    const normalize = (value: Value, norm: string | undefined) =>
      norm === undefined ? value : applyNorm(build, value, `${module}.${norm}`);
    const addResidual = (part: Value) => g.op('Add', [hidden, scaleBy(build, part, config.residualFactor)]);
    const x = () => normalize(hidden, norms.beforeAttention);
    const { recurrence } = layer;
    const mixed =
      recurrence === undefined ? attend(layer, module, x) : applyRecurrence(recurrence, module, x());
    hidden = addResidual(normalize(mixed, norms.afterAttention));
    stream.push(hidden);
    const output = feedForward(build, module, normalize(hidden, norms.beforeFeedForward));
    hidden = addResidual(normalize(output, norms.afterFeedForward));
    stream.push(hidden);
  });
  return { hidden, keys, values, states, stream };
}

/** Emits the token embeddings [N, H], plus position embeddings if the model learns them. */
function embedTokens(build: DecoderBuild, { ids, positions }: DecoderInputs, flat: Value): Value {
  const { g, config, parameters } = build;
  const { embedding, positions: positionName } = config.modules;
  const tokens = scaleBy(build, parameters.embed(embedding, ids), config.embeddingFactor);
  const embeddings =
    positionName === undefined ? tokens : g.op('Add', [tokens, parameters.embed(positionName, positions)]);
  return g.op('Reshape', [embeddings, flat]);
}

/** Emits the factors, if any, by which the new tokens' queries are scaled: [S, 1, 1, 1] or [P, S, 1, 1, 1]. */
function emitQueryGrowth(build: DecoderBuild, positions: Value): Value | undefined {
  const { g, precision } = build;
  const { queryGrowth } = build.config;
  if (queryGrowth === undefined) return undefined;
  const scalar = (value: number) => g.floats(precision, [value], []);
  const floatPositions = g.op('Unsqueeze', [g.cast(positions, precision), g.integers([-3, -2, -1])]);
  const periods = g.op('Floor', [g.op('Div', [floatPositions, scalar(queryGrowth.context)])]);
  const logarithm = g.op('Log', [g.op('Add', [periods, scalar(1)])]);
  return g.op('Add', [g.op('Mul', [logarithm, scalar(queryGrowth.beta)]), scalar(1)]);
}

/** Emits the input of the head: the selected rows of the hidden state after the final norm, [R, H]. */
export function headInput(build: DecoderBuild, hidden: Value, rows: Value): Value {
  const chosenRows = build.g.op('Gather', [hidden, rows], { axis: 0 });
  return applyNorm(build, chosenRows, build.config.modules.finalNorm);
}

/** Emits the logits [R, V] of normalised rows [R, H]. */
export function headLogits(build: DecoderBuild, normed: Value): Value {
  const { modules, tied, logitFactor, logitCap } = build.config;
  const logits = build.parameters.linear(tied ? modules.embedding : modules.head, normed, false);
  return applyCap(build, scaleBy(build, logits, logitFactor), logitCap);
}

/** Emits down(act(gate(x)) · up(x)) (Shazeer 2020), or down(act(up(x))) without a gate. */
function feedForward(build: DecoderBuild, layer: string, x: Value): Value {
  const { g, config, parameters } = build;
  const { feedForward: names, down } = config.modules;
  const paths = names.map((name) => `${layer}.${name}`);
  const fused = parameters.stacked?.(paths, x, config.bias.mlp);
  const products =
    fused === undefined ? paths.map((module) => parameters.linear(module, x, config.bias.mlp)) : [fused];
  const [gate, up] =
    config.gated && products.length === 1
      ? (g.addNode('Split', [products[0]!], 2, { axis: -1 }) as [Value, Value])
      : products;
  const active = activate(build, gate!);
  const inner = up === undefined ? active : g.op('Mul', [active, up]);
  return parameters.linear(`${layer}.${down}`, inner, config.bias.mlp);
}

/** Emits x·σ(x), or the tanh approximation of x·Φ(x) (Hendrycks & Gimpel 2016), using (1 + tanh u) / 2 = σ(2u). */
function activate(build: DecoderBuild, x: Value): Value {
  const { g, config } = build;
  if (config.activation === 'silu') return g.op('Mul', [x, g.op('Sigmoid', [x])]);
  const cube = g.op('Mul', [x, g.op('Mul', [x, x])]);
  const inner = g.op('Add', [x, scaleBy(build, cube, 0.044715)]);
  return g.op('Mul', [x, g.op('Sigmoid', [scaleBy(build, inner, 2 * Math.sqrt(2 / Math.PI))])]);
}

/** Outputs the new keys, then the new values; without shaders, as one tensor, because each output costs time. */
function emitEntries(g: GraphBuilder, entries: readonly Value[], shape: readonly (number | string)[]): void {
  if (g.usesShaders)
    for (const [i, value] of entries.entries()) g.output(`entries.${i}`, value, 'float32', shape);
  else g.output('entries', g.op('Concat', entries, { axis: 0 }), 'float32', ['entries', ...shape.slice(1)]);
}

/** Builds the graph for prefilling and decoding. Cached segments are the shared prompt and each candidate's tokens. */
export function buildInferenceGraph(
  config: DecoderConfig,
  parametersOf: (g: GraphBuilder) => ParameterSource,
  device?: string,
): BuiltGraph {
  const g = new GraphBuilder(device);
  const build = { g, config, parameters: parametersOf(g), precision: 'float32' } as const;
  const ids = g.input('ids', 'int32', ['B', 'S']);
  const positions = g.input('positions', 'int32', ['P', 'S']);
  const cachedPositions = g.input('cached_positions', 'int32', ['P', 'T']);
  const rows = g.input('rows', 'int32', ['R']);
  const hasLongRope = longRopeStart(config.layers) !== undefined;
  const sequence = hasLongRope
    ? { sequenceTokens: g.op('Unsqueeze', [g.input('sequence_tokens', 'int32', ['P']), g.integers([-1])]) }
    : {};
  const segment = (kind: 'prompt' | 'own', batch: number | string, tokens: string) => {
    const shape = [config.kvHeads, batch, tokens, config.headDim];
    const inputs = attentionLayers(config).map((_, layer) => ({
      keys: g.input(`${kind}_keys.${layer}`, 'float32', shape),
      values: g.input(`${kind}_values.${layer}`, 'float32', shape),
    }));
    const length = g.op('Slice', [g.op('Shape', [inputs[0]!.keys]), g.integers([2]), g.integers([3])]);
    return inputs.map((pair) => ({ ...pair, length, shared: kind === 'prompt' }));
  };
  const prompt = segment('prompt', 1, 'T1');
  const own = segment('own', 'B', 'T2');
  const cache = prompt.map((pair, layer) => [pair, own[layer]!]);
  const states = stateShapes(config).map((size, i) => g.input(`state.${i}`, 'float32', ['B', ...size]));
  const decoder = emitDecoder(build, { ids, positions, cachedPositions, cache, states, ...sequence });
  g.output('logits', headLogits(build, headInput(build, decoder.hidden, rows)), 'float32', [
    'R',
    config.vocabulary,
  ]);
  emitEntries(g, [...decoder.keys, ...decoder.values], [config.kvHeads, 'B', 'S', config.headDim]);
  for (const [i, size] of stateShapes(config).entries())
    g.output(`new_state.${i}`, decoder.states[i]!, 'float32', ['B', ...size]);
  return g.build('decode', ids);
}
