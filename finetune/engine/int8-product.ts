/**
 * Int8 products with frozen weights, forward and backward. Each row of x and (except in the head) of the gradient is
 * scaled by its own largest magnitude, so an outlier affects only its row. Rounding is differentiated as the identity.
 */
import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';
import type { ParameterSource } from '../../src/models/local/graph/parameters.js';
import type { StoredTensor } from '../../src/models/local/weights/safetensors.js';
import { constantAdder, type Rule, sumOfParts } from './gradient-rule.js';
import { int8ProductOp, intAttribute } from './shapes.js';

/** An int8 matrix [out, in] = scales·codes whose rows were rotated by `rotateRows`. */
interface Int8Matrix {
  readonly codes: StoredTensor;
  readonly scales: StoredTensor;
}

/** Int8 matrices by the name of the tensor that they replace. */
export type Int8Weights = ReadonlyMap<string, Int8Matrix>;

/** @param head module whose gradient isn't rounded, because a softmax gradient has many small entries that add up */
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
      const product = g.composite(int8ProductOp, [x, codes, scales], attributes, () => {
        // If the shape were a constant, the runtime would transpose and copy the matrix when it loads the graph.
        const codeMatrix = g.op('Reshape', [codes, constantAdder(g, x)(matrix.codes.shape, 'int64')]);
        return quantizedProduct(
          g,
          rotate(g, x, matrix.codes.shape[1]!, 0),
          g.op('Transpose', [codeMatrix], { perm: [1, 0] }),
          scales,
        );
      });
      return bias ? g.op('Add', [product, base.vector(`${module}.bias`)]) : product;
    },
  };
}

/** Emits x·R, which rotates x as `rotateRows` rotates the weights, or its inverse x·Rᵀ if `transposed` is 1. */
function rotate(g: GraphBuilder, x: Value, columns: number, transposed: 0 | 1): Value {
  const block = blockSize(columns);
  const matrix = g.floats('float32', [...rotationMatrix(block)], [block, block]);
  const blocks = g.op('Reshape', [x, g.integers([-1, block])]);
  const rotated = g.op('Gemm', [blocks, matrix], { transB: transposed });
  return g.op('Reshape', [rotated, g.integers([-1, columns])]);
}

/**
 * Emits x·codes·scales, with each row of x [N, in] quantized to 8 bits (uint8 with zero point 128).
 * @param codes int8 [in, out]
 * @param scales per-column factors of the result: [out], or a scalar for all columns
 */
function quantizedProduct(g: GraphBuilder, x: Value, codes: Value, scales: Value): Value {
  const largest = g.op('ReduceMax', [g.op('Abs', [x])], { axes: [1], keepdims: 1 });
  const scale = g.op('Mul', [largest, g.floats('float32', [1 / 127], [])]);
  const rowScales = g.op('Reshape', [scale, g.integers([-1])]);
  const zeroPoints = g.op('Expand', [g.bytes([128]), g.op('Shape', [rowScales])]);
  const quantized = g.op('QuantizeLinear', [x, rowScales, zeroPoints], { axis: 0 });
  const inputs = [quantized, codes, g.floats('float32', [1], []), scales, g.bytes([128], [])];
  const product = g.addNode('MatMulIntegerToFloat', inputs, 1, {}, 'com.microsoft')[0]!;
  return g.op('Mul', [product, scale]);
}

/** Inputs: x [N, in], codes [out, in], scales [out]. Output: [N, out]. */
export const int8ProductRule: Rule = ({ g, node, outputs, needsGradient, shape }) => {
  if (!needsGradient(0)) return [undefined];
  const [, codes, scales] = node.inputs as [Value, Value, Value];
  const dy = outputs[0]!;
  const [rows, columns] = shape(codes).map(({ factor }) => factor) as [number, number];
  if (intAttribute(node, 'exactGradient', 0) === 0) {
    const product = quantizedProduct(g, g.op('Mul', [dy, scales]), codes, g.floats('float32', [1], []));
    return [rotate(g, product, columns, 1)];
  }
  const emit = constantAdder(g, dy);
  const matrix = g.op('Reshape', [codes, emit([rows, columns], 'int64')]);
  const dx = sumOfParts(g, emit, [rows, columns], (_, cut) => {
    const weights = g.op('DequantizeLinear', [cut(matrix, 0), cut(scales, 0)], { axis: 0 });
    return g.op('Gemm', [cut(dy, 1), weights], { transB: 0 });
  });
  return [rotate(g, dx, columns, 1)];
};

/**
 * Width of the largest rotation block. R spreads outliers over neighbouring columns before rounding, as in QuaRot
 * (Ashkboos et al. 2024, arXiv 2404.00456): x·Wᵀ = (x·R)·(W·R)ᵀ. Each block of R is a diagonal of signs times a
 * Hadamard matrix.
 */
const maxBlockSize = 64;

/** Returns the size of a rotation block: the largest power of two ≤ 64 that divides the number of columns. */
function blockSize(columns: number): number {
  let block = 1;
  while (block < maxBlockSize && columns % (2 * block) === 0) block *= 2;
  return block;
}

/** Fixed pseudo-random signs. Without them, a block of equal numbers would turn into a single outlier. */
const signOf = (column: number) => (Math.imul(column + 1, 0x9e3779b1) & 0x10000 ? -1 : 1);

/** Multiplies each block of each row by R, in place. */
export function rotateRows(rows: Float32Array, columns: number): void {
  const block = blockSize(columns);
  const scale = 1 / Math.sqrt(block);
  for (let start = 0; start < rows.length; start += block) {
    for (let i = 0; i < block; i++) rows[start + i] = rows[start + i]! * signOf(i) * scale;
    for (let half = 1; half < block; half *= 2)
      for (let i = 0; i < block; i += 2 * half)
        for (let j = start + i; j < start + i + half; j++) {
          const [a, b] = [rows[j]!, rows[j + half]!];
          rows[j] = a + b;
          rows[j + half] = a - b;
        }
  }
}

/** Returns one block of R: [block, block]. */
function rotationMatrix(block: number): Float32Array {
  const rows = new Float32Array(block * block);
  for (let i = 0; i < block; i++) rows[i * (block + 1)] = 1;
  rotateRows(rows, block);
  return rows;
}
