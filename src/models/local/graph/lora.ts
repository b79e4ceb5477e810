/** Low-rank adapters: W·x + s·B·(A·x), with A [rank, in], B [out, rank] (LoRA, Hu et al. 2021, arXiv 2106.09685). */
import type { Adapter } from './adapter.js';
import type { GraphBuilder, Precision, Value } from './graph.js';
import type { ParameterSource } from './parameters.js';

/** The factors of one module's change, in the graph's precision. */
export interface LoraFactors {
  readonly a: Value;
  readonly b: Value;
  readonly scale: number;
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
      const lora = factors(module);
      const product = base.linear(module, x, bias);
      if (lora === undefined) return product;
      const lowRank = g.op('Gemm', [dropout(module, x), lora.a], { transB: 1 });
      const scaled = g.op('Mul', [lowRank, g.floats(precision, [lora.scale], [])]);
      return g.op('Add', [product, g.op('Gemm', [scaled, lora.b], { transB: 1 })]);
    },
  };
}

/** Applies an adapter from disk to a model's parameters. The adapter's weights are memory-mapped from their file. */
export function adapterParameters(
  g: GraphBuilder,
  adapter: Adapter,
  base: ParameterSource,
  precision: Precision,
): ParameterSource {
  return loraParameters(g, base, precision, (module) => {
    const change = adapter.modules.get(module);
    return change && { ...change, a: g.storedAs(change.a, precision), b: g.storedAs(change.b, precision) };
  });
}
