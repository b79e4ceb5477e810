/** Infers the shapes of all values in a graph, in terms of the inputs' symbols, e.g. [B·S, 64] from [B, S]. */
import type { GraphBuilder, Value } from '../../src/models/local/graph/graph.js';
import type {
  Attribute,
  OnnxGraph,
  OnnxInitializer,
  OnnxNode,
  OnnxValue,
} from '../../src/models/local/graph/onnx-writer.js';

/** A composite operator that multiplies by int8 weights. Inputs: x [N, in], codes int8 [out, in], scales [out]. */
export const int8ProductOp = 'Int8Product';

/** An integer times symbols, e.g. 2·B·S. */
interface Dimension {
  readonly factor: number;
  /** Sorted. A repeated symbol is a power. A sum of different symbols becomes a new symbol. */
  readonly symbols: readonly string[];
}

export type Shape = readonly Dimension[];

/** For each input of a node: its elements if it is a vector of sizes, else undefined. */
type Vectors = readonly (Shape | undefined)[];

export function isUnit(dimension: Dimension): boolean {
  return dimension.factor === 1 && dimension.symbols.length === 0;
}

/** @throws Error for an unsupported operator */
export function inferShapes(graph: OnnxGraph): ReadonlyMap<Value, Shape> {
  const shapes = new Map<Value, Shape>();
  /** Elements of the int64 vectors from which shapes are computed. */
  const contents = new Map<Value, Shape>();
  for (const input of graph.inputs) shapes.set(input.name, input.shape.map(toDimension));
  for (const initializer of graph.initializers) {
    shapes.set(initializer.name, initializer.shape.map(toDimension));
    const numbers = integersOf(initializer);
    if (numbers !== undefined) contents.set(initializer.name, numbers.map(toDimension));
  }
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((name) => shapes.get(name) ?? []);
    const vectors = node.inputs.map((name) => contents.get(name));
    const vector = vectorOf(node, inputs, vectors);
    if (vector !== undefined) contents.set(node.outputs[0]!, vector);
    const result = vector === undefined ? shapeOf(node, inputs, vectors) : [toDimension(vector.length)];
    const parts = node.op === 'Split' ? vectors[1] : undefined;
    node.outputs.forEach((output, index) => {
      const size = parts?.[index];
      shapes.set(output, size === undefined ? result : mapAxis(result, axisOf(node, result), () => size));
    });
  }
  return shapes;
}

function toDimension(size: number | string): Dimension {
  return typeof size === 'number' ? { factor: size, symbols: [] } : { factor: 1, symbols: [size] };
}

/** Returns the elements of an int64 constant; undefined for anything else. */
function integersOf({ data, type }: OnnxInitializer): number[] | undefined {
  if (type !== 'int64' || data.kind !== 'inline') return undefined;
  return Array.from(new BigInt64Array(data.bytes.slice().buffer), Number);
}

/** Returns the elements of the node's result if it is a vector of sizes, else undefined. */
function vectorOf(node: OnnxNode, inputs: readonly Shape[], vectors: Vectors): Shape | undefined {
  if (node.op === 'Shape') return inputs[0];
  if (vectors.includes(undefined)) return undefined;
  if (node.op === 'Concat') return vectors.flatMap((vector) => vector!);
  if (node.op === 'Mul') return vectors[0]!.map((size, i) => product([size, vectors[1]![i]!]));
  if (node.op === 'Slice') return vectors[0]!.slice(vectors[1]![0]!.factor, vectors[2]![0]!.factor);
  return undefined;
}

const shapeKeepingOperators = new Set(
  'Not Cast Cos Sin Sqrt Sigmoid Tanh Relu Floor Exp Log Neg Softmax Identity ScatterElements'.split(' '),
);
const broadcastingOperators = new Set(
  'Add Sub Mul Div Pow Mod Min Max Less LessOrEqual Equal And Or Where BitShift'.split(' '),
);

function shapeOf(node: OnnxNode, inputs: readonly Shape[], vectors: Vectors): Shape {
  const [first, second] = inputs as [Shape, Shape];
  if (shapeKeepingOperators.has(node.op)) return first;
  if (broadcastingOperators.has(node.op)) return inputs.reduce(broadcast);
  switch (node.op) {
    case 'Gather':
      return [...second, ...first.slice(1)];
    case 'GatherElements':
      return second;
    case 'Gemm':
      return [first[intAttribute(node, 'transA', 0)]!, second[1 - intAttribute(node, 'transB', 0)]!];
    case int8ProductOp:
      return [first[0]!, second[0]!];
    case 'MatMulNBits':
      return [first[0]!, toDimension(intAttribute(node, 'N', 0))];
    case 'MatMul':
      return [...broadcast(first.slice(0, -2), second.slice(0, -2)), first.at(-2)!, second.at(-1)!];
    case 'Transpose':
      return intsAttribute(node, 'perm').map((axis) => first[axis]!);
    case 'Reshape':
      return reshape(first, vectors[1]!);
    case 'Expand':
      return broadcast(first, vectors[1]!);
    case 'Unsqueeze':
      return unsqueeze(first, factors(vectors[1]!));
    case 'Slice':
      // Only vectors are sliced, between known positions.
      return [toDimension(vectors[2]![0]!.factor - vectors[1]![0]!.factor)];
    case 'Split':
      // If sizes are given explicitly, the caller applies them.
      if (node.inputs.length > 1) return first;
      return mapAxis(first, axisOf(node, first), ({ factor, symbols }) => ({
        factor: factor / node.outputs.length,
        symbols,
      }));
    case 'Concat':
      return mapAxis(first, axisOf(node, first), (size) => concat(node, inputs, size));
    case 'ReduceMean':
    case 'ReduceMax':
      return reduce(node, first, intsAttribute(node, 'axes'));
    case 'ReduceSum':
      return reduce(node, first, vectors[1] ? factors(vectors[1]) : [...first.keys()]);
    default:
      throw unsupportedError(node, 'no shape rule');
  }
}

const factors = (vector: Shape): readonly number[] => vector.map(({ factor }) => factor);

/** @param axes axes of the result; negative axes count from its end */
function unsqueeze(from: Shape, axes: readonly number[]): Shape {
  const rank = from.length + axes.length;
  const addedAxes = new Set(axes.map((axis) => (axis < 0 ? axis + rank : axis)));
  const rest = [...from];
  return Array.from({ length: rank }, (_, axis) => (addedAxes.has(axis) ? toDimension(1) : rest.shift()!));
}

function broadcast(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[i - rank + a.length] ?? toDimension(1);
    const y = b[i - rank + b.length] ?? toDimension(1);
    return isUnit(x) ? y : x;
  });
}

function reshape(from: Shape, to: Shape): Shape {
  const knownProduct = product(to.filter(({ factor }) => factor !== -1));
  return to.map((size) => (size.factor === -1 ? quotient(product(from), knownProduct) : size));
}

function product(shape: Shape): Dimension {
  return {
    factor: shape.reduce((result, { factor }) => result * factor, 1),
    symbols: shape.flatMap(({ symbols }) => symbols).sort(),
  };
}

function quotient(whole: Dimension, part: Dimension): Dimension {
  const symbols = [...whole.symbols];
  for (const symbol of part.symbols) symbols.splice(symbols.indexOf(symbol), 1);
  return { factor: whole.factor / part.factor, symbols };
}

function concat(node: OnnxNode, inputs: readonly Shape[], reference: Dimension): Dimension {
  const axis = axisOf(node, inputs[0]!);
  const parts = inputs.map((shape) => shape[axis]!);
  if (parts.some(({ symbols }) => symbols.join() !== reference.symbols.join()))
    return { factor: 1, symbols: [`(${parts.map(dimensionText).join(' + ')})`] };
  return { factor: parts.reduce((sum, { factor }) => sum + factor, 0), symbols: reference.symbols };
}

function reduce(node: OnnxNode, from: Shape, axes: readonly number[]): Shape {
  const reducedAxes = new Set(axes.map((axis) => (axis < 0 ? axis + from.length : axis)));
  return intAttribute(node, 'keepdims', 1) === 1
    ? from.map((size, axis) => (reducedAxes.has(axis) ? toDimension(1) : size))
    : from.filter((_, axis) => !reducedAxes.has(axis));
}

function mapAxis(shape: Shape, axis: number, change: (dimension: Dimension) => Dimension): Shape {
  return shape.map((size, index) => (index === axis ? change(size) : size));
}

export function axisOf(node: OnnxNode, shape: Shape): number {
  const axis = intAttribute(node, 'axis', 0);
  return axis < 0 ? axis + shape.length : axis;
}

export function intAttribute(node: OnnxNode, name: string, fallback: number): number {
  const attribute = node.attributes[name];
  return attribute?.kind === 'int' ? attribute.value : fallback;
}

export function intsAttribute(node: OnnxNode, name: string): readonly number[] {
  return (node.attributes[name] as Extract<Attribute, { readonly kind: 'ints' }>).value;
}

function dimensionText({ factor, symbols }: Dimension): string {
  return [factor, ...symbols].join('·');
}

export function unsupportedError(node: OnnxNode, reason: string): Error {
  return new Error(`operator ${node.op} (${node.outputs.join(', ')}) isn't supported in training: ${reason}`);
}

/** Returns a function that computes shapes from the graph's inputs alone, so no value is kept just for its shape. */
export function createSizeEmitter(
  g: GraphBuilder,
  inputs: readonly OnnxValue[],
  shapes: ReadonlyMap<Value, Shape>,
): (value: Value) => Value {
  const symbols = new Map<string, Value>();
  const symbol = (name: string): Value => {
    const known = symbols.get(name);
    if (known !== undefined) return known;
    const input = inputs.find(({ shape }) => shape.includes(name));
    if (input === undefined) throw new Error(`no graph input has the dimension ${name}`);
    const axis = input.shape.indexOf(name);
    const size = g.op('Slice', [g.op('Shape', [input.name]), g.integers([axis]), g.integers([axis + 1])]);
    symbols.set(name, size);
    return size;
  };
  const size = ({ factor, symbols: names }: Dimension): Value => {
    const isOmitted = factor === 1 && names.length > 0;
    const factors = [...(isOmitted ? [] : [g.integers([factor])]), ...names.map(symbol)];
    return factors.reduce((a, b) => g.op('Mul', [a, b]));
  };
  return (value) => {
    const shape = shapes.get(value)!;
    if (shape.length === 0) return g.integers([]);
    const parts = shape.map(size);
    return parts.length === 1 ? parts[0]! : g.op('Concat', parts, { axis: 0 });
  };
}
