/**
 * Low-rank adapters: W·x + s·B·(A·x), with A [rank, in], B [out, rank] (LoRA, Hu et al. 2021, arXiv 2106.09685). DoRA
 * (Liu et al. 2024, arXiv 2402.09353) also scales the rows of W + s·B·A to given lengths.
 */
import { UserError } from '../../../base/errors.js';
import type { StoredTensors } from '../weights/safetensors.js';
import type { Adapter, ModuleChange } from './adapter.js';
import type { GraphBuilder, Precision, Value } from './graph.js';
import { isPacked } from './packed-weights.js';
import { orderedRows, type ParameterSource, requireTensor } from './parameters.js';

/** The factors of one module's change, in the graph's precision. */
export interface LoraFactors {
  readonly a: Value;
  readonly b: Value;
  readonly scale: number;
  /** [out], a factor for each row of W + s·B·A. */
  readonly rowScale?: Value;
}

/** Adds low-rank products to the linear modules that have `factors`; `dropout` applies to the input of A. */
export function loraParameters(
  g: GraphBuilder,
  base: ParameterSource,
  precision: Precision,
  factors: (module: string) => LoraFactors | undefined,
  dropout: (module: string, x: Value) => Value = (_, x) => x,
): ParameterSource {
  return {
    ...base,
    stacked: (modules, x, bias) =>
      modules.some((module) => factors(module) !== undefined) ? undefined : base.stacked?.(modules, x, bias),
    linear(module, x, bias) {
      const found = factors(module);
      if (found === undefined) return base.linear(module, x, bias);
      return scaledRows(g, base, found.rowScale, { module, x, bias }, (product) => {
        const narrow = g.op('Gemm', [dropout(module, x), found.a], { transB: 1 });
        const scaled = g.op('Mul', [narrow, g.floats(precision, [found.scale], [])]);
        return g.op('Add', [product, g.op('Gemm', [scaled, found.b], { transB: 1 })]);
      });
    },
  };
}

/** Emits a module's output. `changed` adds an adapter's product. A `rowScale` [out] scales all but the bias. */
function scaledRows(
  g: GraphBuilder,
  base: ParameterSource,
  rowScale: Value | undefined,
  { module, x, bias }: { readonly module: string; readonly x: Value; readonly bias: boolean },
  changed: (product: Value) => Value,
): Value {
  if (rowScale === undefined) return changed(base.linear(module, x, bias));
  const scaled = g.op('Mul', [changed(base.linear(module, x, false)), rowScale]);
  return bias ? g.op('Add', [scaled, base.vector(`${module}.bias`)]) : scaled;
}

/** Row scales of a DoRA module: stored lengths divided by the row lengths of W + s·B·A; undefined for plain LoRA. */
function rowScaleOf(
  g: GraphBuilder,
  weights: StoredTensors,
  module: string,
  { a, b, scale, magnitude }: ModuleChange,
  precision: Precision,
): Value | undefined {
  if (magnitude === undefined) return undefined;
  const product = g.op('MatMul', [g.exact(b, precision), g.exact(a, precision)]);
  const added = g.op('Mul', [product, g.floats(precision, [scale], [])]);
  const stored = requireTensor(weights, `${module}.weight`);
  if (isPacked(stored))
    throw new UserError({
      file: stored.file,
      message: `DoRA needs unquantised weights, but ${stored.name} has ${stored.dtype} blocks`,
      hint: 'use the model in its original format: a Hugging Face directory, or a GGUF file in F16 or F32',
    });
  const matrix = orderedRows(g, stored, precision);
  const upright = stored.transposed ? g.op('Transpose', [matrix], { perm: [1, 0] }) : matrix;
  const changed = g.op('Add', [upright, added]);
  const length = g.op('ReduceL2', [changed], { axes: [1], keepdims: 0 });
  return g.op('Div', [g.exact(magnitude, precision), length]);
}

/** Applies an adapter from disk to a model's parameters. The adapter's weights are memory-mapped from their file. */
export function adapterParameters(
  g: GraphBuilder,
  adapter: Adapter,
  base: ParameterSource,
  weights: StoredTensors,
  precision: Precision,
): ParameterSource {
  return loraParameters(g, base, precision, (module) => {
    const change = adapter.modules.get(module);
    if (change === undefined) return undefined;
    const rowScale = rowScaleOf(g, weights, module, change, precision);
    const { a, b, scale } = change;
    return { a: g.exact(a, precision), b: g.exact(b, precision), scale, ...(rowScale && { rowScale }) };
  });
}
