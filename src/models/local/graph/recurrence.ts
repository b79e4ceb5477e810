/**
 * Layers with a fixed-size state instead of keys and values. They use the runtime's own operators, for which
 * gradients aren't implemented. Shapes are as in decoder.ts; a convolution has C channels and covers K tokens.
 */
import type { Recurrence } from '../weights/decoder-config.js';
import type { AttentionShapes } from './attention.js';
import type { Value } from './graph.js';
import { applyNorm, type DecoderBuild } from './parameters.js';

interface RecurrenceResult {
  /** [N, H] */
  readonly output: Value;
  readonly states: readonly Value[];
}

/**
 * Emits for each value head: S ← e^g·S + β·k·(v − (e^g·S)ᵀk)ᵀ and o = Sᵀq/√d, where q and k have length 1. The rate
 * β in (0, 1) and the decay g < 0 are computed from x. A norm over the head and a gate follow.
 * @param states states before the new tokens, beginning with this layer's; absent states are zero
 */
export function emitRecurrence(
  build: DecoderBuild,
  recurrence: Recurrence,
  layer: string,
  x: Value,
  shapes: AttentionShapes,
  [convolutionBefore = '', stateBefore = '']: readonly Value[] = [],
): RecurrenceResult {
  const module = `${layer}.linear_attn`;
  const { g, parameters } = build;
  const { keyHeads, keyDim, valueHeads, valueDim } = recurrence;
  const project = (name: string) => parameters.linear(`${module}.${name}`, x, false);
  const [keyWidth, valueWidth] = [keyHeads * keyDim, valueHeads * valueDim];
  // Convolves the last K tokens of each channel: [B, S, C] → [B, S, C], with the state [B, K − 1, C].
  const [convolved, convolutionState] = g.addNode(
    'CausalConvWithState',
    [
      toRows(build, project('in_proj_qkv'), shapes),
      parameters.vector(`${module}.conv1d.weight`),
      '',
      convolutionBefore,
    ],
    2,
    { activation: 'silu', channels_last: 1 },
    'com.microsoft',
  ) as [Value, Value];
  const parts = g.addNode('Split', [convolved, g.integers([keyWidth, keyWidth, valueWidth])], 3, {
    axis: -1,
  });
  const queryHeads = recurrence.order === 'tiled' ? valueHeads : keyHeads;
  const [query, key] = parts.slice(0, 2).map((part) => {
    const heads = normalizeHeads(build, part, keyHeads, keyDim, shapes);
    return queryHeads === keyHeads
      ? heads
      : g.op('Concat', Array<Value>(queryHeads / keyHeads).fill(heads), { axis: -1 });
  });
  const rate = g.op('Sigmoid', [toRows(build, project('in_proj_b'), shapes)]);
  const decay = g.op('Mul', [
    decayRate(build, recurrence, module),
    g.op('Softplus', [
      g.op('Add', [toRows(build, project('in_proj_a'), shapes), parameters.vector(`${module}.dt_bias`)]),
    ]),
  ]);
  const [mixed, state] = g.addNode(
    'LinearAttention',
    [query!, key!, parts[2]!, stateBefore, decay, rate],
    2,
    { q_num_heads: queryHeads, kv_num_heads: valueHeads, update_rule: 'gated_delta' },
    'com.microsoft',
  ) as [Value, Value];
  const heads = g.op('Reshape', [mixed, g.integers([-1, valueHeads, valueDim])]);
  const gate = g.op('Reshape', [project('in_proj_z'), g.integers([-1, valueHeads, valueDim])]);
  const silu = g.op('Mul', [gate, g.op('Sigmoid', [gate])]);
  const gated = g.op('Mul', [applyNorm(build, heads, `${module}.norm`, 0), silu]);
  const flat = g.op('Reshape', [gated, g.integers([-1, valueWidth])]);
  return { output: parameters.linear(`${module}.out_proj`, flat, false), states: [convolutionState, state] };
}

/** Emits the decay rate of each value head: [valueHeads], all negative. */
function decayRate({ g, parameters }: DecoderBuild, { decay }: Recurrence, module: string): Value {
  const stored = parameters.vector(`${module}.A_log`);
  return decay === 'rate' ? stored : g.op('Neg', [g.op('Exp', [stored])]);
}

/** Normalises each head: x / √(Σx² + 10⁻⁶), as in Qwen3.5's own code: [B, S, heads·width]. */
function normalizeHeads(
  build: DecoderBuild,
  x: Value,
  heads: number,
  width: number,
  { batch, tokens }: AttentionShapes,
): Value {
  const { g, precision } = build;
  const split = g.op('Reshape', [x, g.integers([-1, heads, width])]);
  const square = g.op('ReduceSum', [g.op('Mul', [split, split]), g.integers([-1])], { keepdims: 1 });
  const length = g.op('Sqrt', [g.op('Add', [square, g.floats(precision, [1e-6], [])])]);
  const shape = g.op('Concat', [batch, tokens, g.integers([heads * width])], { axis: 0 });
  return g.op('Reshape', [g.op('Div', [split, length]), shape]);
}

/** [N, C] → [B, S, C] */
const toRows = ({ g }: DecoderBuild, x: Value, { batch, tokens }: AttentionShapes): Value =>
  g.op('Reshape', [x, g.op('Concat', [batch, tokens, g.integers([-1])], { axis: 0 })]);
