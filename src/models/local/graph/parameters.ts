import { UserError } from '../../../base/errors.js';
import type { DecoderConfig, Recurrence } from '../weights/decoder-config.js';
import { blockType } from '../weights/gguf-blocks.js';
import { rowOrder } from '../weights/rows.js';
import type { StoredTensor, StoredTensors } from '../weights/safetensors.js';
import type { GraphBuilder, Precision, Value } from './graph.js';

/** Provides the decoder's parameters. Modules have Hugging Face's paths, e.g. `model.layers.0.self_attn.q_proj`. */
export interface ParameterSource {
  /** Emits x·Wᵀ (+ b) for `<module>.weight` of shape [out, in]: [rows, in] → [rows, out]. */
  linear(module: string, x: Value, bias: boolean): Value;
  /** Emits the concatenated products of modules that share x; undefined or absent if each is computed separately. */
  stacked?(modules: readonly string[], x: Value, bias: boolean): Value | undefined;
  /** Emits rows of an embedding: int32 indices […] → […, H] in the graph's precision. */
  embed(module: string, ids: Value): Value;
  /** Emits a parameter outside matrix products, such as a norm's scale or a convolution, in the graph's precision. */
  vector(name: string): Value;
}

/** Provides the stored weights. */
export function storedParameters(
  g: GraphBuilder,
  weights: StoredTensors,
  precision: Precision,
): ParameterSource {
  /** Emits a stored tensor with its rows in Hugging Face's order. */
  const emitExact = (name: string) => {
    const tensor = requireTensor(weights, name);
    const order = rowOrder(tensor);
    const rows = g.storedAs(tensor, precision);
    return order === undefined ? rows : g.op('Gather', [rows, g.integers(order)], { axis: 0 });
  };
  return {
    linear(module, x, bias) {
      const weight = emitExact(`${module}.weight`);
      const transB = requireTensor(weights, `${module}.weight`).transposed ? 0 : 1;
      return g.op('Gemm', bias ? [x, weight, emitExact(`${module}.bias`)] : [x, weight], { transB });
    },
    embed(module, ids) {
      const table = requireTensor(weights, `${module}.weight`);
      const rows = g.op('Gather', [g.stored(table), ids], { axis: 0 });
      return table.dtype === 'F32' && precision === 'float32' ? rows : g.cast(rows, precision);
    },
    vector: emitExact,
  };
}

/** @throws UserError if the tensor is missing or has an unsupported dtype */
export function requireTensor(weights: StoredTensors, name: string): StoredTensor {
  const tensor = weights.get(name);
  if (tensor === undefined)
    throw new UserError({
      field: 'model.path',
      message: `the weights lack the tensor \`${name}\`, which the model's config requires`,
      hint: 'check that the config and the weights belong to the same model',
    });
  if (blockType(tensor.dtype) === undefined)
    throw new UserError({
      file: tensor.file,
      field: name,
      value: tensor.dtype,
      message: 'weights of this dtype are not supported',
      alternatives: ['F32', 'F16', 'BF16'],
    });
  return tensor;
}

export function decoderTensors(config: DecoderConfig): TensorShape[] {
  const { hidden, modules, norm, tied, vocabulary } = config;
  const matrix = (name: string, out: number) => ({ name: `${name}.weight`, shape: [out, hidden] });
  return [
    matrix(modules.embedding, vocabulary),
    ...(modules.positions === undefined ? [] : [matrix(modules.positions, config.contextTokens)]),
    ...config.layers.flatMap(({ recurrence }, index) =>
      layerTensors(config, recurrence).map(({ name, shape }) => ({
        name: `${modules.layers}.${index}.${name}`,
        shape,
      })),
    ),
    ...normTensors(modules.finalNorm, hidden, norm),
    ...(tied ? [] : [matrix(modules.head, vocabulary)]),
  ];
}

const normTensors = (name: string | undefined, size: number, { kind }: DecoderConfig['norm']) =>
  name === undefined
    ? []
    : (kind === 'layer' ? ['weight', 'bias'] : ['weight']).map((part) => ({
        name: `${name}.${part}`,
        shape: [size],
      }));

interface TensorShape {
  readonly name: string;
  readonly shape: readonly number[];
}

const linearTensors = (name: string, out: number, inputs: number, biased: boolean): TensorShape[] => [
  { name: `${name}.weight`, shape: [out, inputs] },
  ...(biased ? [{ name: `${name}.bias`, shape: [out] }] : []),
];

/** Returns the output widths of the query, key and value projections. */
export const projectionWidths = ({ heads, kvHeads, headDim, queryGate }: DecoderConfig): number[] =>
  [heads * (queryGate ? 2 : 1), kvHeads, kvHeads].map((count) => count * headDim);

/** Returns one width per projection, or the sum if the projections are fused. */
const widthsOf = (names: readonly string[], sizes: readonly number[]) =>
  names.length === sizes.length ? sizes : [sizes.reduce((a, b) => a + b)];

/** Lists the tensors of one layer, with names relative to it. */
function layerTensors(config: DecoderConfig, recurrence: Recurrence | undefined): TensorShape[] {
  const { hidden, intermediate, bias, modules } = config;
  const norm = (name: string | undefined) => normTensors(name, hidden, config.norm);
  const widths = widthsOf(modules.feedForward, config.gated ? [intermediate, intermediate] : [intermediate]);
  const { norms } = modules;
  return [
    ...norm(norms.beforeAttention),
    ...(recurrence === undefined ? attentionTensors(config) : recurrentTensors(config, recurrence)),
    ...norm(norms.afterAttention),
    ...norm(norms.beforeFeedForward),
    ...modules.feedForward.flatMap((name, i) => linearTensors(name, widths[i]!, hidden, bias.mlp)),
    ...linearTensors(modules.down, hidden, intermediate, bias.mlp),
    ...norm(norms.afterFeedForward),
  ];
}

function attentionTensors(config: DecoderConfig): TensorShape[] {
  const { hidden, headDim, heads, bias, modules } = config;
  const widths = widthsOf(modules.attention, projectionWidths(config));
  return [
    ...modules.attention.flatMap((name, i) => linearTensors(name, widths[i]!, hidden, bias.qkv)),
    ...linearTensors(modules.attentionOutput, hidden, heads * headDim, bias.output),
    ...(config.qkNorm
      ? [
          ...normTensors(modules.queryNorm, headDim, config.norm),
          ...normTensors(modules.keyNorm, headDim, config.norm),
        ]
      : []),
  ];
}

function recurrentTensors({ hidden }: DecoderConfig, recurrence: Recurrence): TensorShape[] {
  const { kernel, keyHeads, keyDim, valueHeads, valueDim } = recurrence;
  const [keyWidth, valueWidth] = [keyHeads * keyDim, valueHeads * valueDim];
  const tensor = (name: string, shape: readonly number[]) => ({ name: `linear_attn.${name}`, shape });
  return [
    tensor('conv1d.weight', [2 * keyWidth + valueWidth, 1, kernel]),
    tensor('dt_bias', [valueHeads]),
    tensor('A_log', [valueHeads]),
    tensor('norm.weight', [valueDim]),
    ...linearTensors('linear_attn.in_proj_qkv', 2 * keyWidth + valueWidth, hidden, false),
    ...linearTensors('linear_attn.in_proj_z', valueWidth, hidden, false),
    ...linearTensors('linear_attn.in_proj_b', valueHeads, hidden, false),
    ...linearTensors('linear_attn.in_proj_a', valueHeads, hidden, false),
    ...linearTensors('linear_attn.out_proj', hidden, valueWidth, false),
  ];
}

export interface DecoderBuild {
  readonly g: GraphBuilder;
  readonly config: DecoderConfig;
  readonly parameters: ParameterSource;
  readonly precision: Precision;
}

/** Emits x / √(mean(x²) + ε) · (offset + scale) over the last axis (RMSNorm, Zhang & Sennrich 2019), or LayerNorm. */
export function applyNorm(
  build: DecoderBuild,
  x: Value,
  module: string,
  offset = build.config.norm.offset,
): Value {
  const { g, config, parameters, precision } = build;
  const centered =
    config.norm.kind === 'layer' ? g.op('Sub', [x, g.op('ReduceMean', [x], { axes: [-1], keepdims: 1 })]) : x;
  const stored = parameters.vector(`${module}.weight`);
  const factors = offset === 0 ? stored : g.op('Add', [stored, constant(build, offset)]);
  const square = g.op('Pow', [centered, constant(build, 2)]);
  const mean = g.op('ReduceMean', [square], { axes: [-1], keepdims: 1 });
  const root = g.op('Sqrt', [g.op('Add', [mean, g.floats(precision, [config.normEpsilon], [])])]);
  const scaled = g.op('Mul', [g.op('Div', [centered, root]), factors]);
  return config.norm.kind === 'layer' ? g.op('Add', [scaled, parameters.vector(`${module}.bias`)]) : scaled;
}

/** Emits cap·tanh(x / cap), or x if there is no cap (Gemma 2, arXiv 2408.00118). */
export function applyCap(build: DecoderBuild, x: Value, cap: number | undefined): Value {
  if (cap === undefined) return x;
  const bounded = build.g.op('Tanh', [scaleBy(build, x, 1 / cap)]);
  return scaleBy(build, bounded, cap);
}

export function scaleBy(build: DecoderBuild, x: Value, factor: number): Value {
  return factor === 1 ? x : build.g.op('Mul', [x, constant(build, factor)]);
}

const constant = ({ g, precision }: DecoderBuild, value: number) => g.floats(precision, [value], []);
