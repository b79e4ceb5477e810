/** Products with packed matrices, either directly or after unpacking them to float32. */

import { UserError } from '../../../base/errors.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import type { Quantization } from '../weights/quantization.js';
import type { StoredTensor, StoredTensors } from '../weights/safetensors.js';
import type { GraphBuilder, Value } from './graph.js';
import { isPacked, type PackedMatrix, type PackedWeights, packBlocks, quantize } from './packed-weights.js';
import { decoderTensors, type ParameterSource, requireTensor } from './parameters.js';

/**
 * Rounds and packs matrices, or packs a file's own blocks; undefined if there is nothing to pack.
 * @throws UserError if blocks would have to be converted to another type, or the result can't be written
 */
export function packWeights(
  model: string,
  config: DecoderConfig,
  weights: StoredTensors,
  quantization: Quantization,
  field: 'model.quantization' | 'method.quantization' = 'model.quantization',
): PackedWeights | undefined {
  const matrices = decoderTensors(config)
    .filter(({ shape }) => shape.length === 2)
    .map(({ name }) => requireTensor(weights, name));
  const blocks = matrices.filter(isPacked);
  if (quantization === 'none' || quantization === 'float32')
    return blocks.length === 0 ? undefined : packBlocks(model, blocks);
  if (blocks.length > 0)
    throw new UserError({
      field,
      value: quantization,
      message: `the weights in this file are already quantised (${[...new Set(blocks.map(({ dtype }) => dtype))].join(', ')})`,
      alternatives: field === 'model.quantization' ? ['none', 'float32'] : ['none'],
      hint: 'remove this setting; the weights are then used as they are',
    });
  return quantize(model, multipliedMatrices(config, weights), quantization);
}

/** Returns the matrices used in products: all except embeddings that aren't also the output layer. */
export function multipliedMatrices(config: DecoderConfig, weights: StoredTensors): readonly StoredTensor[] {
  const { embedding, positions } = config.modules;
  return decoderTensors(config)
    .filter(({ name, shape }) => shape.length === 2 && name !== `${positions}.weight`)
    .filter(({ name }) => config.tied || name !== `${embedding}.weight`)
    .map(({ name }) => requireTensor(weights, name));
}

/**
 * Provides products with packed matrices; `base` provides all other parameters. On a CPU, activations are rounded to
 * 8-bit numbers, with one scale per block (accuracy level 4). Embeddings are looked up in the packed matrices only if
 * the file itself has blocks.
 * @param stacking whether adjacent matrices that multiply the same x are combined
 */
export function packedParameters(
  g: GraphBuilder,
  { matrices, format }: PackedWeights,
  base: ParameterSource,
  stacking = false,
): ParameterSource {
  const sums = new Map<string, Value>();
  /** Emits sums of x over each block: [N, blocks]; shared by q, k and v, and by gate and up. */
  const blockSums = (x: Value, { block, columns }: PackedMatrix): Value => {
    const key = `${x} ${block}`;
    const known = sums.get(key);
    if (known !== undefined) return known;
    const blocks = g.op('Reshape', [x, g.integers([-1, columns / block, block])]);
    const total = g.op('ReduceSum', [blocks, g.integers([2])], { keepdims: 1 });
    const sum = g.op('Reshape', [total, g.integers([-1, columns / block])]);
    sums.set(key, sum);
    return sum;
  };
  const multiply = (x: Value, matrix: PackedMatrix): Value => {
    const { rows, columns, bits, block, codes, scales, offsets } = matrix;
    const accuracy = !g.usesShaders && { accuracy_level: 4 };
    const attributes = { K: columns, N: rows, bits, block_size: block, ...accuracy };
    const inputs = [x, g.stored(codes), g.stored(scales)];
    const product = g.addNode('MatMulNBits', inputs, 1, attributes, 'com.microsoft')[0]!;
    if (offsets === undefined) return product;
    return g.op('Gemm', [blockSums(x, matrix), g.stored(offsets), product], { transB: 1 });
  };
  return {
    ...base,
    stacked(modules, x, bias) {
      const parts = modules.map((module) => matrices.get(`${module}.weight`));
      const stack = stacking && parts.length > 1 ? stackMatrices(parts) : undefined;
      if (stack === undefined) return undefined;
      const biases = modules.map((module) => (bias ? base.vector(`${module}.bias`) : ''));
      const product = multiply(x, stack);
      return bias ? g.op('Add', [product, g.op('Concat', biases, { axis: 0 })]) : product;
    },
    linear(module, x, bias): Value {
      const matrix = matrices.get(`${module}.weight`);
      if (matrix === undefined) return base.linear(module, x, bias);
      const product = multiply(x, matrix);
      return bias ? g.op('Add', [product, base.vector(`${module}.bias`)]) : product;
    },
    ...(format === undefined && { embed: (module, ids) => embedRows(g, matrices, base, module, ids) }),
  };
}

/** Combines matrices stored one after another; undefined if they aren't adjacent or are packed differently. */
function stackMatrices(parts: readonly (PackedMatrix | undefined)[]): PackedMatrix | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const isUniform = parts.every(
    (part) => part?.bits === first.bits && part.block === first.block && part.columns === first.columns,
  );
  if (!isUniform) return undefined;
  const codes = stackTensors(parts.map((part) => part!.codes));
  const scales = stackTensors(parts.map((part) => part!.scales));
  if (codes === undefined || scales === undefined) return undefined;
  const rows = codes.shape[0]!;
  if (parts.every((part) => part!.offsets === undefined)) return { ...first, rows, codes, scales };
  const offsets = stackTensors(parts.map((part) => part!.offsets));
  return offsets && { ...first, rows, codes, scales, offsets };
}

function stackTensors(parts: readonly (StoredTensor | undefined)[]): StoredTensor | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  let end = first.offset;
  let rows = 0;
  for (const part of parts) {
    if (part?.offset !== end) return undefined;
    end += part.length;
    rows += part.shape[0]!;
  }
  const name = `${first.name} and ${parts.length - 1} more`;
  return { ...first, name, shape: [rows, ...first.shape.slice(1)], length: end - first.offset };
}

/** Computes all products in float32. Matrices are unpacked when the session loads, and then take up their full size. */
export function unpackedParameters(
  g: GraphBuilder,
  { matrices }: PackedWeights,
  base: ParameterSource,
): ParameterSource {
  return {
    ...base,
    linear(module, x, bias): Value {
      const matrix = matrices.get(`${module}.weight`);
      if (matrix === undefined) return base.linear(module, x, bias);
      const weight = unpack(g, matrix, (tensor) => g.stored(tensor), [matrix.rows]);
      return g.op('Gemm', bias ? [x, weight, base.vector(`${module}.bias`)] : [x, weight], { transB: 1 });
    },
    embed: (module, ids) => embedRows(g, matrices, base, module, ids),
  };
}

/** Gathers rows of a packed embedding and unpacks only those. A tied output layer uses the same codes. */
function embedRows(
  g: GraphBuilder,
  matrices: PackedWeights['matrices'],
  base: ParameterSource,
  module: string,
  ids: Value,
): Value {
  const matrix = matrices.get(`${module}.weight`);
  if (matrix === undefined) return base.embed(module, ids);
  const shape = g.op('Shape', [ids]);
  const flat = g.op('Reshape', [ids, g.integers([-1])]);
  const rows = unpack(g, matrix, (tensor) => g.op('Gather', [g.stored(tensor), flat], { axis: 0 }), [-1]);
  return g.op('Reshape', [rows, g.op('Concat', [shape, g.integers([matrix.columns])], { axis: 0 })]);
}

/** Emits scale·(code − middle) + offset: [rows, columns] in float32. */
function unpack(
  g: GraphBuilder,
  { bits, block, columns, codes, scales, offsets }: PackedMatrix,
  emitRows: (tensor: StoredTensor) => Value,
  rows: readonly [number],
): Value {
  const bytes = emitRows(codes);
  const blocks = codes.shape[1]!;
  const perBlock = (tensor: StoredTensor) => g.op('Unsqueeze', [emitRows(tensor), g.integers([-1])]);
  const floatCodes = g.cast(bits === 8 ? bytes : splitNibbles(g, bytes, blocks, block), 'float32');
  const centered = g.op('Sub', [floatCodes, g.floats('float32', [2 ** (bits - 1)], [])]);
  const scaled = g.op('Mul', [centered, perBlock(scales)]);
  const values = offsets === undefined ? scaled : g.op('Add', [scaled, perBlock(offsets)]);
  const padded = g.op('Reshape', [values, g.integers([...rows, blocks * block])]);
  if (blocks * block === columns) return padded;
  return g.op('Slice', [padded, g.integers([0]), g.integers([columns]), g.integers([1])]);
}

/** Splits each byte into its two codes: [rows, blocks, block]. */
function splitNibbles(g: GraphBuilder, bytes: Value, blocks: number, block: number): Value {
  const four = g.bytes([4]);
  const shift = (value: Value, direction: string) => g.op('BitShift', [value, four], { direction });
  const halves = [shift(shift(bytes, 'LEFT'), 'RIGHT'), shift(bytes, 'RIGHT')];
  const columns = halves.map((half) => g.op('Unsqueeze', [half, g.integers([-1])]));
  const pairs = g.op('Concat', columns, { axis: -1 });
  return g.op('Reshape', [pairs, g.integers([-1, blocks, block])]);
}
