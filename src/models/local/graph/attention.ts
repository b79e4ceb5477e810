import type { Value } from './graph.js';
import { applyCap, applyNorm, type DecoderBuild, projectionWidths, scaleBy } from './parameters.js';
import { type NewTokenPositions, type Rotation, rotate, rotationScale } from './rotation.js';

/** Keys and values of one layer that were computed earlier. */
export interface CachedSegment {
  /** [kvHeads, B, T, headDim]; if shared, B is replaced by 1 (one segment for all rows) or F (one per B / F rows). */
  readonly keys: Value;
  readonly values: Value;
  readonly shared: boolean;
  /** int64 [1]: the length T. */
  readonly length: Value;
}

/** Becomes 0 in a softmax, and doesn't overflow float32 when added to a score. */
const maskValue = -1e30;

/** Shape vectors that all layers share; decoder.ts explains the letters. */
export interface AttentionShapes {
  /** [1]: B */
  readonly batch: Value;
  /** [1]: S */
  readonly tokens: Value;
  /** [N, H] */
  readonly flat: Value;
  /** [B, S, kvHeads, g, headDim] */
  readonly queries: Value;
  /** [B, S, kvHeads, 1, headDim] */
  readonly keys: Value;
  /** [B, S, heads + 2·kvHeads, 1, headDim] */
  readonly allHeads: Value;
  /** [kvHeads, B, g·S, headDim] */
  readonly grouped: Value;
  /** [kvHeads, B, g, S, headDim] */
  readonly ungrouped: Value;
  /** [kvHeads, B, S, headDim] */
  readonly newKeys: Value;
  /** [1]: number of query matrices per key head in a product with a shared segment. */
  readonly queryMatrices: Value;
}

/**
 * Emits the shapes, from `ids` [B, S]. A product with a single row rounds differently from larger ones. So that one
 * candidate and several get the same result, the rows aren't joined into one matrix if there is one query head per key
 * head and one new token per row, except in shaders.
 * @param given replaces the computed `queryMatrices`
 */
export function emitShapes({ g, config }: DecoderBuild, ids: Value, given?: Value): AttentionShapes {
  const { heads, hidden, kvHeads, headDim } = config;
  const groupSize = heads / kvHeads;
  const shape = g.op('Shape', [ids]);
  const batch = g.op('Slice', [shape, g.integers([0]), g.integers([1])]);
  const tokens = g.op('Slice', [shape, g.integers([1]), g.integers([2])]);
  const concat = (...parts: Value[]) => g.op('Concat', parts, { axis: 0 });
  const one = g.integers([1]);
  const rowGroups = () => g.op('Where', [g.op('Equal', [tokens, one]), batch, one]);
  const queryMatrices = given ?? (g.usesShaders || groupSize > 1 ? one : rowGroups());
  return {
    batch,
    tokens,
    flat: g.integers([-1, hidden]),
    queries: concat(batch, tokens, g.integers([kvHeads, groupSize, headDim])),
    keys: concat(batch, tokens, g.integers([kvHeads, 1, headDim])),
    allHeads: concat(batch, tokens, g.integers([heads + 2 * kvHeads, 1, headDim])),
    grouped: concat(g.integers([kvHeads]), batch, g.integers([-1, headDim])),
    ungrouped: concat(g.integers([kvHeads]), batch, g.integers([groupSize, -1, headDim])),
    newKeys: concat(g.integers([kvHeads]), batch, g.integers([-1, headDim])),
    queryMatrices,
  };
}

export interface TokenPositions extends NewTokenPositions {
  /** int32 [P, T₁ + T₂ + …]: positions of the cached keys, by segment; spare slots have a larger one than any token. */
  readonly cachedPositions?: Value;
}

/** Emits the scores' bias, [g·S, T + S] or [P, g·S, T + S]: 0 for keys that the query can see, otherwise −10³⁰. */
export function emitBias(
  { g, config, precision }: DecoderBuild,
  window: number | undefined,
  { positions, cachedPositions }: TokenPositions,
): Value {
  const allPositions =
    cachedPositions === undefined ? positions : g.op('Concat', [cachedPositions, positions], { axis: -1 });
  const queries = g.op('Unsqueeze', [positions, g.integers([-1])]);
  const keys = g.op('Unsqueeze', [allPositions, g.integers([-2])]);
  let visible = g.op('LessOrEqual', [keys, queries]);
  if (window !== undefined) {
    const inWindow = g.op('Less', [g.op('Sub', [queries, keys]), g.int32s([window], [])]);
    visible = g.op('And', [visible, inWindow]);
  }
  const bias = g.op('Where', [visible, g.floats(precision, [0], []), g.floats(precision, [maskValue], [])]);
  // [P, S, T + S] → [P, g·S, T + S], because the query heads of a group are consecutive.
  const groupSize = config.heads / config.kvHeads;
  if (groupSize === 1) return bias;
  const unsqueezed = g.op('Unsqueeze', [bias, g.integers([-3])]);
  const repeated = g.op('Expand', [unsqueezed, g.integers([groupSize, 1, 1])]);
  const size = g.op('Shape', [bias]);
  const rows = g.op('Slice', [size, g.integers([0]), g.integers([-2])]);
  const width = g.op('Slice', [size, g.integers([-1]), g.integers([3])]);
  return g.op('Reshape', [repeated, g.op('Concat', [rows, g.integers([-1]), width], { axis: 0 })]);
}

interface AttentionContext {
  readonly shapes: AttentionShapes;
  readonly rotation: Rotation | undefined;
  /** Factors by which the queries are multiplied, broadcast over [B, S, kvHeads, g, headDim]. */
  readonly growth: Value | undefined;
  readonly mix: (qkv: Qkv) => AttendedHeads;
}

/** The cached segments that queries attend to in addition to the new tokens, and the bias that masks both. */
interface VisibleSegments {
  readonly shapes: AttentionShapes;
  readonly bias: Value;
  readonly segments: readonly CachedSegment[];
}

export interface AttendedHeads {
  /** [N, heads·headDim] */
  readonly merged: Value;
  /** [kvHeads, B, S, headDim] */
  readonly keys: Value;
  readonly values: Value;
}

/** Emits grouped-query attention with rotary positions (Ainslie et al. 2023, Su et al. 2021). */
export function emitAttention(
  build: DecoderBuild,
  module: string,
  x: Value,
  context: AttentionContext,
): { output: Value; keys: Value; values: Value } {
  const { g, config } = build;
  const { gate, ...qkv } = emitQkv(build, module, x, context);
  const { merged, keys, values } = context.mix(qkv);
  const output = build.parameters.linear(
    `${module}.${config.modules.attentionOutput}`,
    gate === undefined ? merged : g.op('Mul', [merged, g.op('Sigmoid', [gate])]),
    config.bias.output,
  );
  return { output, keys, values };
}

/** Emits the attention of each row to the segments and to its own new tokens. */
export function attendToSegments(build: DecoderBuild, visible: VisibleSegments, qkv: Qkv): AttendedHeads {
  const { g, config } = build;
  const { shapes } = visible;
  // [B, S, kvHeads, ·, headDim] → [kvHeads, B, ·, S, headDim]
  const headsFirst = (one: Value) => g.op('Transpose', [one], { perm: [2, 0, 3, 1, 4] });
  const queries = g.op('Reshape', [headsFirst(qkv.query), shapes.grouped]);
  const keys = g.op('Reshape', [headsFirst(qkv.key), shapes.newKeys]);
  const values = g.op('Reshape', [headsFirst(qkv.value), shapes.newKeys]);
  const sums = g.op('Reshape', [attend(build, visible, queries, keys, values), shapes.ungrouped]);
  // [kvHeads, B, g, S, headDim] → [B, S, kvHeads, g, headDim] → [N, heads·headDim]
  const merged = g.op('Reshape', [
    g.op('Transpose', [sums], { perm: [1, 3, 0, 2, 4] }),
    g.integers([-1, config.heads * config.headDim]),
  ]);
  return { merged, keys, values };
}

export interface Qkv {
  /** [B, S, kvHeads, g, headDim], scaled. */
  readonly query: Value;
  /** [B, S, kvHeads, 1, headDim] */
  readonly key: Value;
  readonly value: Value;
}

interface Projections extends Qkv {
  /** [N, heads·headDim]; the output of attention is multiplied by this gate's sigmoid. */
  readonly gate?: Value | undefined;
}

/** Emits queries, keys and values, normalised and rotated if the model requires it. */
function emitQkv(build: DecoderBuild, module: string, x: Value, context: AttentionContext): Projections {
  const { g, config, parameters } = build;
  const { bias, modules, qkNorm, queryGate } = config;
  const { shapes, rotation } = context;
  const paths = modules.attention.map((name) => `${module}.${name}`);
  const fused =
    paths.length === 1 ? parameters.linear(paths[0]!, x, bias.qkv) : parameters.stacked?.(paths, x, bias.qkv);
  if (fused !== undefined && rotation !== undefined && !qkNorm && !queryGate)
    return rotateTogether(build, fused, rotation, context);
  const parts = fused && g.addNode('Split', [fused, g.integers(projectionWidths(config))], 3, { axis: -1 });
  const product = (index: number) => parts?.[index] ?? parameters.linear(paths[index]!, x, bias.qkv);
  const shaped = (part: Value, shape: Value, norm?: string) => {
    const normed = (value: Value) =>
      norm === undefined || !qkNorm ? value : applyNorm(build, value, `${module}.${norm}`);
    return normed(g.op('Reshape', [part, shape]));
  };
  const rotated = (value: Value) => (rotation === undefined ? value : rotate(build, value, rotation));
  const [projected, gate] = queryGate ? splitGate(build, product(0)) : [product(0)];
  const query = rotated(shaped(projected!, shapes.queries, modules.queryNorm));
  return {
    query: scaleQueries(build, query, config.scoreScale, context),
    key: rotated(shaped(product(1), shapes.keys, modules.keyNorm)),
    value: shaped(product(2), shapes.keys),
    gate,
  };
}

function scaleQueries(build: DecoderBuild, query: Value, scale: number, { growth }: AttentionContext): Value {
  return scaleBy(build, growth === undefined ? query : build.g.op('Mul', [query, growth]), scale);
}

/** Rotates all heads of a token at once; the result is bitwise identical to rotating each head separately. */
function rotateTogether(
  build: DecoderBuild,
  product: Value,
  rotation: Rotation,
  context: AttentionContext,
): Projections {
  const { g, config } = build;
  const { heads, kvHeads, scoreScale } = config;
  const { shapes } = context;
  const allHeads = g.op('Reshape', [product, shapes.allHeads]);
  const rotated = rotate(build, allHeads, rotation.allHeads);
  const sizes = g.integers([heads, kvHeads, kvHeads]);
  const [query, key, value] = g.addNode('Split', [rotated, sizes], 3, { axis: 2 });
  const grouped = g.op('Reshape', [query!, shapes.queries]);
  return {
    query: scaleQueries(build, grouped, scoreScale / rotationScale(config), context),
    key: key!,
    value: value!,
  };
}

/** Splits each head into the query and the input of its gate; both are [N, heads·headDim]. */
function splitGate({ g, config: { heads, headDim } }: DecoderBuild, product: Value): Value[] {
  const pairs = g.op('Reshape', [product, g.integers([-1, heads, 2 * headDim])]);
  return g
    .addNode('Split', [pairs], 2, { axis: -1 })
    .map((half) => g.op('Reshape', [half, g.integers([-1, heads * headDim])]));
}

/** Emits softmax attention of the queries over the cached segments and the new tokens: [kvHeads, B, g·S, headDim]. */
function attend(
  build: DecoderBuild,
  { bias, segments, shapes }: VisibleSegments,
  queries: Value,
  keys: Value,
  values: Value,
): Value {
  const { g } = build;
  const { kvHeads, headDim, scoreCap } = build.config;
  const multiply = (a: Value, b: Value) => g.op('MatMul', [a, b]);
  const transposed = (matrix: Value) => g.op('Transpose', [matrix], { perm: [0, 1, 3, 2] });
  const join = (...parts: Value[]) => g.op('Concat', parts, { axis: 0 });
  // Rows that share a segment usually form one matrix, so that the segment is read only once.
  const jointShape = join(g.integers([kvHeads]), shapes.queryMatrices, g.integers([-1, headDim]));
  const scores = segments.map(({ keys: cached, length, shared }) => {
    if (!shared) return multiply(queries, transposed(cached));
    const product = multiply(g.op('Reshape', [queries, jointShape]), transposed(cached));
    return g.op('Reshape', [product, join(g.integers([kvHeads]), shapes.batch, g.integers([-1]), length)]);
  });
  scores.push(multiply(queries, transposed(keys)));
  const joined = scores.length === 1 ? scores[0]! : g.op('Concat', scores, { axis: -1 });
  const weights = g.op('Softmax', [g.op('Add', [applyCap(build, joined, scoreCap), bias])], { axis: -1 });
  if (segments.length === 0) return multiply(weights, values);
  const lengths = join(...segments.map(({ length }) => length), shapes.tokens);
  const parts = g.addNode('Split', [weights, lengths], segments.length + 1, { axis: -1 });
  const sums = segments.map(({ values: cached, length, shared }, index) => {
    if (!shared) return multiply(parts[index]!, cached);
    const flat = g.op('Reshape', [
      parts[index]!,
      join(g.integers([kvHeads]), shapes.queryMatrices, g.integers([-1]), length),
    ]);
    return g.op('Reshape', [multiply(flat, cached), shapes.grouped]);
  });
  return [...sums, multiply(parts.at(-1)!, values)].reduce((sum, part) => g.op('Add', [sum, part]));
}
