/**
 * The one definition of a Llama-family decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU. It emits
 * plain ONNX operators through a GraphBuilder; what differs between the graphs that use it (cached keys and values,
 * quantised or adapted projections, the precision) comes in from outside.
 *
 * Shapes: B rows (batch), S new tokens a row, N = B·S, H hidden, V vocabulary; g = heads / kvHeads.
 * Keys and values have the layout [kvHeads, B, tokens, headDim], queries [kvHeads, B, g·S, headDim]: the query heads
 * that share a key head are rows of one matrix product, so nothing is repeated.
 */
import type { GraphBuilder, Value } from './graph.js';
import type { DecoderConfig, LayerConfig } from './hf-config.js';
import { ropeFrequencies } from './rope.js';

export type Precision = 'float32' | 'float64';

/**
 * Where the decoder's parameters come from. Names are Hugging Face's module paths, e.g.
 * `model.layers.0.self_attn.q_proj`.
 */
export interface ParameterSource {
  /** x·Wᵀ (+ b) for `<module>.weight` of shape [out, in]: [rows, in] → [rows, out]. */
  linear(module: string, x: Value, bias: boolean): Value;
  /** Rows of the embedding: int32 indices [B, S] → [B, S, H] in the graph's precision. */
  embed(module: string, ids: Value): Value;
  /** A vector parameter such as a norm's scale, in the graph's precision. */
  vector(name: string): Value;
}

/** Keys and values that were computed before, for one layer. */
export interface CachedSegment {
  /** [kvHeads, B or 1, T, headDim]; with 1, all rows of the batch share them. */
  readonly keys: Value;
  readonly values: Value;
  readonly shared: boolean;
  /** int64 scalar-in-a-list [1]: T. */
  readonly length: Value;
}

export interface DecoderInputs {
  /** int32 [B, S] */
  readonly ids: Value;
  /** int32 [S]: place of each new token in its sequence, the same for all rows. */
  readonly positions: Value;
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

/** Large enough to vanish in any softmax, small enough never to overflow float32 when added to a score. */
const masked = -1e30;

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

/** Shape vectors that depend on B and S, computed once. */
interface Shapes {
  /** [1]: S */
  readonly tokens: Value;
  /** [N, H] */
  readonly flat: Value;
  /** [B, S, kvHeads, g, headDim] */
  readonly queries: Value;
  /** [B, S, kvHeads, 1, headDim] */
  readonly keys: Value;
  /** [kvHeads, B, g·S, headDim] */
  readonly grouped: Value;
  /** [kvHeads, B, g, S, headDim] */
  readonly ungrouped: Value;
  /** [kvHeads, B, S, headDim] */
  readonly newKeys: Value;
}

function emitShapes(g: GraphBuilder, config: DecoderConfig, ids: Value): Shapes {
  const { kvHeads, headDim } = config;
  const group = config.heads / kvHeads;
  const shape = g.op('Shape', [ids]);
  const batch = g.op('Slice', [shape, g.integers([0]), g.integers([1])]);
  const tokens = g.op('Slice', [shape, g.integers([1]), g.integers([2])]);
  const concat = (...parts: Value[]) => g.op('Concat', parts, { axis: 0 });
  return {
    tokens,
    flat: g.integers([-1, config.hidden]),
    queries: concat(batch, tokens, g.integers([kvHeads, group, headDim])),
    keys: concat(batch, tokens, g.integers([kvHeads, 1, headDim])),
    grouped: concat(g.integers([kvHeads]), batch, g.integers([-1, headDim])),
    ungrouped: concat(g.integers([kvHeads]), batch, g.integers([group, -1, headDim])),
    newKeys: concat(g.integers([kvHeads]), batch, g.integers([-1, headDim])),
  };
}

/** x / √(mean(x²) + ε) · scale, over the last axis (Zhang & Sennrich 2019). */
function rmsNorm(
  g: GraphBuilder,
  x: Value,
  scale: Value,
  config: DecoderConfig,
  precision: Precision,
): Value {
  const square = g.op('Pow', [x, g.floats(precision, [2], [])]);
  const mean = g.op('ReduceMean', [square], { axes: [-1], keepdims: 1 });
  const root = g.op('Sqrt', [g.op('Add', [mean, g.floats(precision, [config.normEpsilon], [])])]);
  return g.op('Mul', [g.op('Div', [x, root]), scale]);
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

/** Cosines and sines of the new tokens' angles: [S, 1, 1, headDim / 2]. */
interface Rotation {
  readonly cos: Value;
  readonly sin: Value;
}

function emitRotation(
  g: GraphBuilder,
  layer: LayerConfig,
  headDim: number,
  positions: Value,
  precision: Precision,
): Rotation {
  const frequencies = g.floats(precision, ropeFrequencies(layer.rope, headDim), [1, 1, 1, headDim / 2]);
  const places = g.op('Reshape', [g.cast(positions, precision), g.integers([-1, 1, 1, 1])]);
  const angles = g.op('Mul', [places, frequencies]);
  return { cos: g.op('Cos', [angles]), sin: g.op('Sin', [angles]) };
}

/** Rotates the pairs (xᵢ, xᵢ₊ₕ), h = headDim / 2, of x [B, S, kvHeads, ·, headDim] (the layout of Hugging Face's weights). */
function rotate(g: GraphBuilder, x: Value, { cos, sin }: Rotation): Value {
  const [first, second] = g.split('Split', [x], 2, { axis: -1 }) as [Value, Value];
  const multiply = (a: Value, b: Value) => g.op('Mul', [a, b]);
  return g.op(
    'Concat',
    [
      g.op('Sub', [multiply(first, cos), multiply(second, sin)]),
      g.op('Add', [multiply(second, cos), multiply(first, sin)]),
    ],
    { axis: -1 },
  );
}

/**
 * What is added to the scores [·, ·, g·S, T + S]: 0 where a query may look, else a huge negative number. A query looks
 * at keys that are not later than itself and nearer than the window.
 */
function emitBias(
  g: GraphBuilder,
  config: DecoderConfig,
  window: number | undefined,
  inputs: DecoderInputs,
  shapes: Shapes,
  precision: Precision,
): Value {
  const queries = g.op('Unsqueeze', [inputs.positions, g.integers([1])]);
  const all =
    inputs.cachedPositions === undefined
      ? inputs.positions
      : g.op('Concat', [inputs.cachedPositions, inputs.positions], { axis: 0 });
  const keys = g.op('Unsqueeze', [all, g.integers([0])]);
  let visible = g.op('LessOrEqual', [keys, queries]);
  if (window !== undefined) {
    const near = g.op('Less', [g.op('Sub', [queries, keys]), g.int32s([window], [])]);
    visible = g.op('And', [visible, near]);
  }
  const bias = g.op('Where', [visible, g.floats(precision, [0], []), g.floats(precision, [masked], [])]);
  // [S, T + S] → [g·S, T + S]: the query heads of a group follow one another.
  const group = config.heads / config.kvHeads;
  if (group === 1) return bias;
  const width = g.op('Shape', [all]);
  const repeated = g.op('Expand', [
    bias,
    g.op('Concat', [g.integers([group]), shapes.tokens, width], { axis: 0 }),
  ]);
  return g.op('Reshape', [repeated, g.op('Concat', [g.integers([-1]), width], { axis: 0 })]);
}

interface AttentionContext {
  readonly shapes: Shapes;
  readonly rotation: Rotation;
  readonly bias: Value;
  readonly segments: readonly CachedSegment[];
  readonly precision: Precision;
}

function attention(
  g: GraphBuilder,
  config: DecoderConfig,
  parameters: ParameterSource,
  module: string,
  x: Value,
  context: AttentionContext,
): { output: Value; keys: Value; values: Value } {
  const { shapes, rotation, precision } = context;
  const project = (name: 'q' | 'k' | 'v', shape: Value) => {
    const projected = g.op('Reshape', [
      parameters.linear(`${module}.${name}_proj`, x, config.bias.qkv),
      shape,
    ]);
    if (name === 'v' || !config.qkNorm) return projected;
    return rmsNorm(g, projected, parameters.vector(`${module}.${name}_norm.weight`), config, precision);
  };
  // [B, S, kvHeads, ·, headDim] → [kvHeads, B, ·, S, headDim]
  const headsFirst = (value: Value) => g.op('Transpose', [value], { perm: [2, 0, 3, 1, 4] });
  const rotated = rotate(g, project('q', shapes.queries), rotation);
  const scaled = g.op('Mul', [rotated, g.floats(precision, [config.headDim ** -0.5], [])]);
  const queries = g.op('Reshape', [headsFirst(scaled), shapes.grouped]);
  const keys = g.op('Reshape', [headsFirst(rotate(g, project('k', shapes.keys), rotation)), shapes.newKeys]);
  const values = g.op('Reshape', [headsFirst(project('v', shapes.keys)), shapes.newKeys]);
  const mixed = g.op('Reshape', [attend(g, config, context, queries, keys, values), shapes.ungrouped]);
  // [kvHeads, B, g, S, headDim] → [B, S, kvHeads, g, headDim] → [N, heads·headDim]
  const merged = g.op('Reshape', [
    g.op('Transpose', [mixed], { perm: [1, 3, 0, 2, 4] }),
    g.integers([-1, config.heads * config.headDim]),
  ]);
  return { output: parameters.linear(`${module}.o_proj`, merged, config.bias.output), keys, values };
}

/** Softmax attention of the queries over the cached segments and the new tokens: [kvHeads, B, g·S, headDim]. */
function attend(
  g: GraphBuilder,
  config: DecoderConfig,
  { bias, segments, shapes }: AttentionContext,
  queries: Value,
  keys: Value,
  values: Value,
): Value {
  const transposed = (matrix: Value) => g.op('Transpose', [matrix], { perm: [0, 1, 3, 2] });
  // Against a shared segment the rows of all sequences are one matrix: its keys are read once for the whole batch.
  const together = g.integers([config.kvHeads, 1, -1, config.headDim]);
  const flatShape = (length: Value) =>
    g.op('Concat', [g.integers([config.kvHeads, 1, -1]), length], { axis: 0 });
  const rowShape = (length: Value) =>
    g.op('Concat', [g.op('Slice', [g.op('Shape', [queries]), g.integers([0]), g.integers([3])]), length], {
      axis: 0,
    });
  const scores = segments.map((segment) =>
    segment.shared
      ? g.op('Reshape', [
          g.op('MatMul', [g.op('Reshape', [queries, together]), transposed(segment.keys)]),
          rowShape(segment.length),
        ])
      : g.op('MatMul', [queries, transposed(segment.keys)]),
  );
  scores.push(g.op('MatMul', [queries, transposed(keys)]));
  const joined = scores.length === 1 ? scores[0]! : g.op('Concat', scores, { axis: -1 });
  const weights = g.op('Softmax', [g.op('Add', [joined, bias])], { axis: -1 });
  if (segments.length === 0) return g.op('MatMul', [weights, values]);
  const lengths = g.op('Concat', [...segments.map((segment) => segment.length), shapes.tokens], { axis: 0 });
  const parts = g.split('Split', [weights, lengths], segments.length + 1, { axis: -1 });
  const sums = segments.map((segment, index) =>
    segment.shared
      ? g.op('Reshape', [
          g.op('MatMul', [g.op('Reshape', [parts[index]!, flatShape(segment.length)]), segment.values]),
          shapes.grouped,
        ])
      : g.op('MatMul', [parts[index]!, segment.values]),
  );
  return [...sums, g.op('MatMul', [parts.at(-1)!, values])].reduce((sum, part) => g.op('Add', [sum, part]));
}

function cached<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
