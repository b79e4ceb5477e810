/**
 * Gradient of products with frozen 4-bit or 8-bit weights, as in QLoRA (Dettmers et al. 2023, arXiv 2305.14314): dx =
 * dy·W, with W dequantized temporarily. Treats the rounding of activations in the forward pass as the identity.
 */
import type { Value } from '../../src/models/local/graph/graph.js';
import { type AddConstant, constantAdder, type Rule, type RuleContext, sumOfParts } from './gradient-rule.js';
import { intAttribute } from './shapes.js';

/** Inputs: x [N, K], codes [out, ⌈K/block⌉, block·bits/8], scales [out, ⌈K/block⌉]. Output: [N, out]. */
export const quantizedProductRule: Rule = (context) => {
  const { g, node, outputs, needsGradient } = context;
  if (!needsGradient(0)) return [undefined];
  const codes = node.inputs[1]!;
  const scales = node.inputs[2]!;
  const width = intAttribute(node, 'K', 0);
  const rows = intAttribute(node, 'N', 0);
  const bits = intAttribute(node, 'bits', 4);
  const block = intAttribute(node, 'block_size', 32);
  const padded = Math.ceil(width / block) * block;
  const dy = outputs[0]!;
  const emit = constantAdder(g, dy);
  const dx = sumOfParts(g, emit, [rows, padded], (count, cut) => {
    const matrices = dequantize(context, emit, cut(codes, 0), cut(scales, 0), { bits, block, count, padded });
    const products = matrices.map((matrix) => g.op('Gemm', [cut(dy, 1), matrix], { transB: 0 }));
    return interleave(context, products, padded);
  });
  return [padded === width ? dx : g.op('Slice', [dx, g.integers([0]), g.integers([width]), g.integers([1])])];
};

interface BlockLayout {
  readonly bits: number;
  readonly block: number;
  readonly count: number;
  readonly padded: number;
}

/** Emits a float32 matrix [count, padded]; for 4 bits without shaders, its even and odd columns [count, padded/2]. */
function dequantize(
  { g }: RuleContext,
  emit: AddConstant,
  codes: Value,
  scales: Value,
  { bits, block, count, padded }: BlockLayout,
): readonly Value[] {
  if (g.usesShaders) return [gatherDequantized(g, emit, codes, scales, { bits, block, count, padded })];
  const codesPerByte = 8 / bits;
  const scale = g.op('Reshape', [scales, emit([-1], 'int64')]);
  const zeroPoints = g.op('Expand', [emit([2 ** (bits - 1)], 'uint8'), g.op('Shape', [scale])]);
  const toMatrix = (bytes: Value) => {
    const blocks = g.op('Reshape', [bytes, emit([-1, block / codesPerByte], 'int64')]);
    const floats = g.op('DequantizeLinear', [blocks, scale, zeroPoints], { axis: 0 });
    return g.op('Reshape', [floats, g.integers([count, padded / codesPerByte])]);
  };
  if (bits === 8) return [toMatrix(codes)];
  const four = emit([4], 'uint8');
  const shift = (value: Value, direction: string) => g.op('BitShift', [value, four], { direction });
  return [toMatrix(shift(shift(codes, 'LEFT'), 'RIGHT')), toMatrix(shift(codes, 'RIGHT'))];
}

/** Dequantizes to [count, padded] on the GPU, where shaders can't shift bytes. */
function gatherDequantized(
  g: RuleContext['g'],
  emit: AddConstant,
  codes: Value,
  scales: Value,
  { bits, block, count, padded }: BlockLayout,
): Value {
  const rows = emit([...Array(count).keys()], 'int64');
  const bytes = g.op('Reshape', [codes, g.integers([count, (padded * bits) / 8])]);
  const attributes = { gather_axis: 0, quantize_axis: 1, block_size: block, bits };
  return g.addNode('GatherBlockQuantized', [bytes, rows, scales], 1, attributes, 'com.microsoft')[0]!;
}

/** Interleaves the columns of n matrices [N, padded/n], a₀ b₀ a₁ b₁ …, into [N, padded]. */
function interleave({ g }: RuleContext, parts: readonly Value[], padded: number): Value {
  if (parts.length === 1) return parts[0]!;
  const columns = parts.map((part) => g.op('Unsqueeze', [part, g.integers([2])]));
  return g.op('Reshape', [g.op('Concat', columns, { axis: 2 }), g.integers([-1, padded])]);
}
