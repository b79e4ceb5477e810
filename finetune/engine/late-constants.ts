import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';

export type Late = (values: readonly number[], type: 'int64' | 'uint8') => Value;

/**
 * Constants that the runtime can't know before it runs: otherwise it would compute everything that follows from constants
 * when it loads, and keep every matrix in float32.
 * @param anything a value of the run, at least one-dimensional: what uses the constants waits for it
 */
export function lateConstants(g: GraphBuilder, anything: Value): Late {
  const size = g.op('Slice', [g.op('Shape', [anything]), g.integers([0]), g.integers([1])]);
  const zero = g.op('Mul', [size, g.integers([0])]);
  return (values, type) => {
    const sum = g.op('Add', [zero, g.integers(values)]);
    return type === 'int64' ? sum : g.cast(sum, type);
  };
}
