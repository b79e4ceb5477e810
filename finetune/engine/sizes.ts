import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';
import type { OnnxValue } from '../../src/models/local/graph/onnx-writer.js';
import type { Dimension, Shape } from './shapes.js';

/**
 * Computes shapes as int64 vectors from the graph's inputs alone, so no value is kept just for its shape.
 * @returns a function from a value's name to the value that holds its shape
 */
export function sizesOf(
  g: GraphBuilder,
  inputs: readonly OnnxValue[],
  shapes: ReadonlyMap<Value, Shape>,
): (value: Value) => Value {
  const symbols = new Map<string, Value>();
  const symbol = (name: string): Value => {
    const known = symbols.get(name);
    if (known !== undefined) return known;
    const input = inputs.find(({ shape }) => shape.includes(name));
    if (input === undefined) throw new Error(`no input of the graph has the size ${name}`);
    const axis = input.shape.indexOf(name);
    const size = g.op('Slice', [g.op('Shape', [input.name]), g.integers([axis]), g.integers([axis + 1])]);
    symbols.set(name, size);
    return size;
  };
  const size = ({ factor, symbols: names }: Dimension): Value => {
    const factors = [
      ...(factor === 1 && names.length > 0 ? [] : [g.integers([factor])]),
      ...names.map(symbol),
    ];
    return factors.reduce((a, b) => g.op('Mul', [a, b]));
  };
  return (value) => {
    const shape = shapes.get(value)!;
    if (shape.length === 0) return g.integers([]);
    const parts = shape.map(size);
    return parts.length === 1 ? parts[0]! : g.op('Concat', parts, { axis: 0 });
  };
}
