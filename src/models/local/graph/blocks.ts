/** Attention for training: tokens are packed into one row and split into blocks, first prompts, then replies. */
import { type AttendedHeads, attendToSegments, emitBias, emitShapes, type Qkv } from './attention.js';
import type { Value } from './graph.js';
import type { DecoderBuild } from './parameters.js';

/** F prompts of at most P tokens, each with up to G replies of at most A tokens. */
export interface TokenBlocks {
  /** int32 [F, P] and [F, G, A]: index of the token in each slot; for an empty slot, the index of a padding token. */
  readonly prompts: Value;
  readonly replies: Value;
  /** int32 of the same shapes: each token's position in its sequence; for an empty slot, one later than all tokens'. */
  readonly promptPositions: Value;
  readonly replyPositions: Value;
  /** int32 [N]: the slot of each token; the slots of the prompts come first. */
  readonly slots: Value;
}

/** Returns a function that maps a layer's window to the function that emits the layer's attention. */
export function emitBlockMixer(
  build: DecoderBuild,
  { prompts, replies, promptPositions, replyPositions, slots }: TokenBlocks,
): (window: number | undefined) => (qkv: Qkv) => AttendedHeads {
  const { g, config } = build;
  const { headDim, heads, kvHeads } = config;
  const size = g.op('Shape', [replies]);
  const [families, group, tokens] = [0, 1, 2].map((axis) =>
    g.op('Slice', [size, g.integers([axis]), g.integers([axis + 1])]),
  ) as [Value, Value, Value];
  const join = (...parts: Value[]) => g.op('Concat', parts, { axis: 0 });
  const rows = g.op('Mul', [families, group]);
  const ownPositions = g.op('Reshape', [replyPositions, join(rows, tokens)]);
  const promptShapes = emitShapes(build, promptPositions);
  const replyShapes = emitShapes(build, ownPositions, families);
  const { tokens: length } = promptShapes;
  const repeated = g.op('Expand', [
    g.op('Unsqueeze', [promptPositions, g.integers([1])]),
    join(families, group, length),
  ]);
  const tokenPositions = {
    prompts: { positions: promptPositions },
    replies: { positions: ownPositions, cachedPositions: g.op('Reshape', [repeated, join(rows, length)]) },
  };
  /** @param x [1, N, kvHeads, ·, headDim] */
  const gather = (x: Value, count: number, block: Value, shape: Value) =>
    g.op('Reshape', [
      g.op('Gather', [g.op('Reshape', [x, g.integers([-1, count * headDim])]), block], { axis: 0 }),
      shape,
    ]);
  const pack = ({ query, key, value }: Qkv, block: Value, shapes: typeof promptShapes): Qkv => ({
    query: gather(query, heads, block, shapes.queries),
    key: gather(key, kvHeads, block, shapes.keys),
    value: gather(value, kvHeads, block, shapes.keys),
  });
  const mixers = new Map<number | undefined, (qkv: Qkv) => AttendedHeads>();
  return (window) => {
    const found = mixers.get(window);
    if (found !== undefined) return found;
    const biases = {
      prompts: emitBias(build, window, tokenPositions.prompts),
      replies: emitBias(build, window, tokenPositions.replies),
    };
    const mix = (qkv: Qkv): AttendedHeads => {
      const promptMix = attendToSegments(
        build,
        { shapes: promptShapes, bias: biases.prompts, segments: [] },
        pack(qkv, prompts, promptShapes),
      );
      const segment = { keys: promptMix.keys, values: promptMix.values, shared: true, length };
      const replyMix = attendToSegments(
        build,
        { shapes: replyShapes, bias: biases.replies, segments: [segment] },
        pack(qkv, replies, replyShapes),
      );
      const slotOutputs = g.op('Concat', [promptMix.merged, replyMix.merged], { axis: 0 });
      return { ...promptMix, merged: g.op('Gather', [slotOutputs, slots], { axis: 0 }) };
    };
    mixers.set(window, mix);
    return mix;
  };
}
