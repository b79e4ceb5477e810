import { UserError } from '../../errors.js';
import type { ParameterSource, Precision } from './decoder.js';
import type { GraphBuilder, Value } from './graph.js';
import type { StoredTensor, StoredTensors } from './safetensors.js';

/**
 * Parameters taken from the stored weights as they are. float16 and bfloat16 are cast to the graph's precision once,
 * when the session folds constants; the embedding is cast after its rows are gathered, so it stays on disk.
 */
export function storedParameters(
  g: GraphBuilder,
  weights: StoredTensors,
  precision: Precision,
): ParameterSource {
  const exact = (tensor: StoredTensor): Value => {
    const value = g.stored(tensor);
    return tensor.dtype === (precision === 'float32' ? 'F32' : 'F64') ? value : g.cast(value, precision);
  };
  return {
    linear(module, x, bias) {
      const weight = exact(requireTensor(weights, `${module}.weight`));
      const inputs = bias ? [x, weight, exact(requireTensor(weights, `${module}.bias`))] : [x, weight];
      return g.op('Gemm', inputs, { transB: 1 });
    },
    embed(module, ids) {
      const table = requireTensor(weights, `${module}.weight`);
      const rows = g.op('Gather', [g.stored(table), ids], { axis: 0 });
      return table.dtype === 'F32' && precision === 'float32' ? rows : g.cast(rows, precision);
    },
    vector: (name) => exact(requireTensor(weights, name)),
  };
}

const computable = ['F32', 'F16', 'BF16'];

/** @throws UserError when the weights lack the tensor or hold it in a dtype that can't be computed with */
export function requireTensor(weights: StoredTensors, name: string): StoredTensor {
  const tensor = weights.get(name);
  if (tensor === undefined)
    throw new UserError({
      field: 'model.path',
      message: `the weights hold no tensor \`${name}\`, which config.json calls for`,
      remedy: 'check that config.json and the safetensors files belong together',
    });
  if (!computable.includes(tensor.dtype))
    throw new UserError({
      file: tensor.file,
      field: name,
      value: tensor.dtype,
      message: 'weights of this dtype are not supported',
      alternatives: computable,
    });
  return tensor;
}
