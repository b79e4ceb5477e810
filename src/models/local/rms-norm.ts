import type { GraphBuilder, Precision, Value } from './graph.js';
import type { DecoderConfig } from './hf-config.js';

/** x / √(mean(x²) + ε) · scale, over the last axis (Zhang & Sennrich 2019). */
export function rmsNorm(
  g: GraphBuilder,
  x: Value,
  scale: Value,
  config: DecoderConfig,
  precision: Precision,
): Value {
  const square = g.op('Pow', [x, g.floats(precision, [2], [])]);
  const mean = g.op('ReduceMean', [square], { axes: [-1], keepdims: 1 });
  const root = g.op('Sqrt', [g.op('Add', [mean, g.floats(precision, [config.normEpsilon], [])])]);
  return g.op('Mul', [g.op('Div', [x, root]), scale]);
}
