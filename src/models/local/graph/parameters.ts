import { UserError } from '../../../base/errors.js';
import { blockType } from '../weights/gguf-blocks.js';
import type { DecoderConfig } from '../weights/hf-config.js';
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
      return g.op('Gemm', bias ? [x, weight, exact(`${module}.bias`)] : [x, weight], { transB: 1 });
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
  const { hidden, intermediate, headDim, bias } = config;
  const queries = config.heads * headDim;
  const keys = config.kvHeads * headDim;
  const linear = (name: string, out: number, inputs: number, biased: boolean) => [
    { name: `${name}.weight`, shape: [out, inputs] },
    ...(biased ? [{ name: `${name}.bias`, shape: [out] }] : []),
  ];
  const vector = (name: string, size: number) => [{ name: `${name}.weight`, shape: [size] }];
  return [
    ...linear('model.embed_tokens', config.vocabulary, hidden, false),
    ...config.layers.flatMap((_, layer) => {
      const block = `model.layers.${layer}`;
      const attention = `${block}.self_attn`;
      return [
        ...vector(`${block}.input_layernorm`, hidden),
        ...linear(`${attention}.q_proj`, queries, hidden, bias.qkv),
        ...linear(`${attention}.k_proj`, keys, hidden, bias.qkv),
        ...linear(`${attention}.v_proj`, keys, hidden, bias.qkv),
        ...linear(`${attention}.o_proj`, hidden, queries, bias.output),
        ...(config.qkNorm
          ? [...vector(`${attention}.q_norm`, headDim), ...vector(`${attention}.k_norm`, headDim)]
          : []),
        ...vector(`${block}.post_attention_layernorm`, hidden),
        ...linear(`${block}.mlp.gate_proj`, intermediate, hidden, bias.mlp),
        ...linear(`${block}.mlp.up_proj`, intermediate, hidden, bias.mlp),
        ...linear(`${block}.mlp.down_proj`, hidden, intermediate, bias.mlp),
      ];
    }),
    ...vector('model.norm', hidden),
    ...(config.tied ? [] : linear('lm_head', config.vocabulary, hidden, false)),
  ];
}
