import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';

export type Late = (values: readonly number[], type: 'int64' | 'uint8') => Value;

/**
 * Creates constants that the runtime can't fold. Otherwise it would evaluate everything that depends only on
 * constants at load time and keep every matrix in float32.
 * @param anything a value computed during the run, at least one-dimensional; the constants depend on its size
 */
export function lateConstants(g: GraphBuilder, anything: Value): Late {
  const size = g.op('Slice', [g.op('Shape', [anything]), g.integers([0]), g.integers([1])]);
  const zero = g.op('Mul', [size, g.integers([0])]);
  return (values, type) => {
    const sum = g.op('Add', [zero, g.integers(values)]);
    return type === 'int64' ? sum : g.cast(sum, type);
  };
}
