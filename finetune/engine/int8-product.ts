/**
 * Products with frozen weights in whole numbers of 8 bits, forward and backward. Each row of x, and of the gradient, is
 * rounded to 8 bits by its largest magnitude, so that a row of large numbers costs the others nothing. The rounding
 * counts as the identity.
 */
import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';
import type { ParameterSource } from '../../src/models/local/graph/parameters.js';
import type { Rule } from './gradient-rule.js';
import type { Int8Weights } from './int8-weights.js';
import { type Late, lateConstants } from './late-constants.js';
import { int8Product, intAttribute } from './shapes.js';
import { blockOf, spreadingMatrix } from './spreading.js';

/** Weights that exist in float32 at once: a wide head is computed in parts. */
const weightsAtOnce = 2 ** 24;

/**
 * @param head its gradient is not rounded: that of a softmax is one large number among many small ones, which count
 * together
 */
export function int8Parameters(
  g: GraphBuilder,
  weights: Int8Weights,
  base: ParameterSource,
  head: string,
): ParameterSource {
  return {
    ...base,
    linear(module, x, bias) {
      const matrix = weights.get(`${module}.weight`);
      if (matrix === undefined) return base.linear(module, x, bias);
      const [codes, scales] = [g.stored(matrix.codes), g.stored(matrix.scales)];
      const attributes = { exactGradient: module === head ? 1 : 0 };
      const product = g.composite(int8Product, [x, codes, scales], attributes, () => {
        // The runtime would keep a copy of what it can transpose when it loads.
        const late = g.op('Reshape', [codes, lateConstants(g, x)(matrix.codes.shape, 'int64')]);
        return product8(g, spread(g, x, matrix.codes.shape[1]!, 0), g.op('Transpose', [late], { perm: [1, 0] }), scales);
      });
      return bias ? g.op('Add', [product, base.vector(`${module}.bias`)]) : product;
    },
  };
}

/** x·R, or x·Rᵀ where `transposed` is 1: the columns are mixed as those of the weights are. */
function spread(g: GraphBuilder, x: Value, columns: number, transposed: 0 | 1): Value {
  const block = blockOf(columns);
  const matrix = g.floats('float32', [...spreadingMatrix(block)], [block, block]);
  const blocks = g.op('Reshape', [x, g.integers([-1, block])]);
  const mixed = g.op('Gemm', [blocks, matrix], { transB: transposed });
  return g.op('Reshape', [mixed, g.integers([-1, columns])]);
}

/**
 * @param x [N, in]
 * @param codes int8 [in, out]
 * @param scales [out], factors of the columns of the result, or []
 */
function product8(g: GraphBuilder, x: Value, codes: Value, scales: Value): Value {
  const largest = g.op('ReduceMax', [g.op('Abs', [x])], { axes: [1], keepdims: 1 });
  const scale = g.op('Mul', [largest, g.floats('float32', [1 / 127], [])]);
  const perRow = g.op('Reshape', [scale, g.integers([-1])]);
  const middle = g.op('Expand', [g.bytes([128]), g.op('Shape', [perRow])]);
  const rounded = g.op('QuantizeLinear', [x, perRow, middle], { axis: 0 });
  const inputs = [rounded, codes, g.floats('float32', [1], []), scales, g.bytes([128], [])];
  const product = g.split('MatMulIntegerToFloat', inputs, 1, {}, 'com.microsoft')[0]!;
  return g.op('Mul', [product, scale]);
}

/** Inputs x [N, in], codes [out, in] and scales [out]; output [N, out]. */
export const int8ProductRule: Rule = ({ g, node, outputs, wants, shape }) => {
  if (!wants(0)) return [undefined];
  const [, codes, scales] = node.inputs as [Value, Value, Value];
  const dy = outputs[0]!;
  const [rows, columns] = shape(codes).map(({ factor }) => factor) as [number, number];
  if (intAttribute(node, 'exactGradient', 0) === 0) {
    const product = product8(g, g.op('Mul', [dy, scales]), codes, g.floats('float32', [1], []));
    return [spread(g, product, columns, 1)];
  }
  const late = lateConstants(g, dy);
  const step = Math.max(1, Math.floor(weightsAtOnce / columns));
  let dx: Value | undefined;
  for (let from = 0; from < rows; from += step) {
    const part = exactPart(g, late, { dy, codes, scales, from, to: Math.min(from + step, rows) });
    dx = dx === undefined ? part : g.op('Add', [dx, part]);
  }
  return [spread(g, dx!, columns, 1)];
};

/** What the rows `from` to `to` of the weights add to dx. */
function exactPart(
  g: GraphBuilder,
  late: Late,
  part: {
    readonly dy: Value;
    readonly codes: Value;
    readonly scales: Value;
    readonly from: number;
    readonly to: number;
  },
): Value {
  const range = [late([part.from], 'int64'), late([part.to], 'int64')];
  const slice = (value: Value, axis: number) => g.op('Slice', [value, ...range, g.integers([axis])]);
  const matrix = g.op('DequantizeLinear', [slice(part.codes, 0), slice(part.scales, 0)], { axis: 0 });
  return g.op('Gemm', [slice(part.dy, 1), matrix], { transB: 0 });
}
