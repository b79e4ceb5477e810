import { UserError } from '../../../base/errors.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import { blockType } from '../weights/gguf-blocks.js';
import { rowOrder } from '../weights/rows.js';
import type { StoredTensor, StoredTensors } from '../weights/safetensors.js';
import type { GraphBuilder, Precision, Value } from './graph.js';

/**
 * Where the decoder's parameters come from. Names are Hugging Face's module paths, e.g.
 * `model.layers.0.self_attn.q_proj`.
 */
export interface ParameterSource {
  /** x·Wᵀ (+ b) for `<module>.weight` of shape [out, in]: [rows, in] → [rows, out]. */
  linear(module: string, x: Value, bias: boolean): Value;
  /** The products of several modules with the same x, in one; undefined, or not there, where each has its own. */
  stacked?(modules: readonly string[], x: Value, bias: boolean): readonly Value[] | undefined;
  /** Rows of the embedding: int32 indices [B, S] → [B, S, H] in the graph's precision. */
  embed(module: string, ids: Value): Value;
  /** A vector parameter such as a norm's scale, in the graph's precision. */
  vector(name: string): Value;
}

/**
 * Parameters taken from the stored weights as they are. float16 and bfloat16 are cast to the graph's precision once,
 * when the session folds constants; the embedding is cast after its rows are gathered, so it stays on disk.
 */
export function storedParameters(
  g: GraphBuilder,
  weights: StoredTensors,
  precision: Precision,
): ParameterSource {
  const exact = (name: string) => {
    const tensor = requireTensor(weights, name);
    const order = rowOrder(tensor);
    const rows = g.exact(tensor, precision);
    return order === undefined ? rows : g.op('Gather', [rows, g.integers(order)], { axis: 0 });
  };
  return {
    linear(module, x, bias) {
      const weight = exact(`${module}.weight`);
      const transB = requireTensor(weights, `${module}.weight`).transposed ? 0 : 1;
      return g.op('Gemm', bias ? [x, weight, exact(`${module}.bias`)] : [x, weight], { transB });
    },
    embed(module, ids) {
      const table = requireTensor(weights, `${module}.weight`);
      const rows = g.op('Gather', [g.stored(table), ids], { axis: 0 });
      return table.dtype === 'F32' && precision === 'float32' ? rows : g.cast(rows, precision);
    },
    vector: exact,
  };
}

/** @throws UserError when the weights lack the tensor or hold it in a dtype that can't be computed with */
export function requireTensor(weights: StoredTensors, name: string): StoredTensor {
  const tensor = weights.get(name);
  if (tensor === undefined)
    throw new UserError({
      field: 'model.path',
      message: `the weights hold no tensor \`${name}\`, which config.json calls for`,
      remedy: 'check that config.json and the safetensors files belong together',
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

/** Name and shape of every tensor that a decoder reads. */
export function decoderTensors(config: DecoderConfig): { name: string; shape: readonly number[] }[] {
  const { hidden, modules, norm, tied, vocabulary } = config;
  const matrix = (name: string, out: number) => ({ name: `${name}.weight`, shape: [out, hidden] });
  const layer = layerTensors(config);
  return [
    matrix(modules.embedding, vocabulary),
    ...(modules.positions === undefined ? [] : [matrix(modules.positions, config.contextTokens)]),
    ...config.layers.flatMap((_, index) =>
      layer.map(({ name, shape }) => ({ name: `${modules.layers}.${index}.${name}`, shape })),
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

/** Tensors of one layer, by their names below it. */
function layerTensors(config: DecoderConfig): { name: string; shape: readonly number[] }[] {
  const { hidden, intermediate, headDim, heads, kvHeads, bias, modules, qkNormOver } = config;
  const linear = (name: string, out: number, inputs: number, biased: boolean) => [
    { name: `${name}.weight`, shape: [out, inputs] },
    ...(biased ? [{ name: `${name}.bias`, shape: [out] }] : []),
  ];
  const norm = (name: string | undefined, size = hidden) => normTensors(name, size, config.norm);
  const widths = [heads, kvHeads, kvHeads].map((count) => count * headDim);
  const fused = (names: readonly string[], sizes: readonly number[]) =>
    names.length === sizes.length ? sizes : [sizes.reduce((a, b) => a + b)];
  const inputs = fused(modules.attention, widths);
  const wide = fused(modules.feedForward, config.gated ? [intermediate, intermediate] : [intermediate]);
  const normed = (count: number) => (qkNormOver === 'head' ? headDim : count * headDim);
  const { norms } = modules;
  return [
    ...norm(norms.beforeAttention),
    ...modules.attention.flatMap((name, i) => linear(name, inputs[i]!, hidden, bias.qkv)),
    ...linear(modules.attentionOutput, hidden, heads * headDim, bias.output),
    ...(config.qkNorm
      ? [...norm(modules.queryNorm, normed(heads)), ...norm(modules.keyNorm, normed(kvHeads))]
      : []),
    ...norm(norms.afterAttention),
    ...norm(norms.beforeFeedForward),
    ...modules.feedForward.flatMap((name, i) => linear(name, wide[i]!, hidden, bias.mlp)),
    ...linear(modules.down, hidden, intermediate, bias.mlp),
    ...norm(norms.afterFeedForward),
  ];
}
