/** Gradient rules for attention layers, feed-forward layers and losses. y is the node's output, dy = ∂loss/∂y. */
import type { Value } from '../../src/models/local/graph/graph.js';
import type { Rule, RuleContext } from './gradient-rule.js';
import { int8ProductRule } from './int8-product.js';
import { quantizedProductRule } from './quantized-base.js';
import { axisOf, int8ProductOp, intAttribute, intsAttribute, isUnit } from './shapes.js';

export const gradientRules: Readonly<Record<string, Rule>> = {
  Identity: ({ outputs }) => [outputs[0]],
  Neg: ({ g, outputs }) => [g.op('Neg', [outputs[0]!])],
  Add: (context) => broadcastRule(context, (dy) => [() => dy, () => dy]),
  Sub: (context) => broadcastRule(context, (dy) => [() => dy, () => context.g.op('Neg', [dy])]),
  Mul: (context) => {
    const { g, node, recall } = context;
    const [a, b] = node.inputs as [Value, Value];
    const times = (dy: Value, other: Value) => g.op('Mul', [dy, recall(other)]);
    return broadcastRule(context, (dy) => [() => times(dy, b), () => times(dy, a)]);
  },
  Div: (context) => {
    const { g, node, recall } = context;
    const divisor = recall(node.inputs[1]!);
    return broadcastRule(context, (dy) => [
      () => g.op('Div', [dy, divisor]),
      () => g.op('Neg', [g.op('Div', [g.op('Mul', [dy, recall(node.outputs[0]!)]), divisor])]),
    ]);
  },
  /** On ties, the gradient goes to the first input. */
  Min: (context) => extremeRule(context, ([a, b]) => [a, b]),
  Max: (context) => extremeRule(context, ([a, b]) => [b, a]),
  /** The exponent is 2. */
  Pow: ({ g, node, outputs, precision, recall }) => {
    const twice = g.op('Mul', [recall(node.inputs[0]!), g.floats(precision, [2], [])]);
    return [g.op('Mul', [outputs[0]!, twice])];
  },
  Sqrt: ({ g, node, outputs, precision, recall }) => [
    g.op('Div', [g.op('Mul', [outputs[0]!, g.floats(precision, [0.5], [])]), recall(node.outputs[0]!)]),
  ],
  Exp: ({ g, node, outputs, recall }) => [g.op('Mul', [outputs[0]!, recall(node.outputs[0]!)])],
  Log: ({ g, node, outputs, recall }) => [g.op('Div', [outputs[0]!, recall(node.inputs[0]!)])],
  /** dx = dy where y > 0, else 0. */
  Relu: ({ g, node, outputs, precision, recall }) => {
    const positive = g.op('Less', [g.floats(precision, [0], []), recall(node.outputs[0]!)]);
    return [g.op('Mul', [outputs[0]!, g.cast(positive, precision)])];
  },
  /** dx = dy·(1 − y²) */
  Tanh: ({ g, node, outputs, precision, recall }) => {
    const y = recall(node.outputs[0]!);
    const slope = g.op('Sub', [g.floats(precision, [1], []), g.op('Mul', [y, y])]);
    return [g.op('Mul', [outputs[0]!, slope])];
  },
  Sigmoid: ({ g, node, outputs, precision, recall }) => {
    const y = recall(node.outputs[0]!);
    const slope = g.op('Mul', [y, g.op('Sub', [g.floats(precision, [1], []), y])]);
    return [g.op('Mul', [outputs[0]!, slope])];
  },
  /** dx = (dy − Σ dy·y)·y, summed along the last axis. */
  Softmax: ({ g, node, outputs, recall }) => {
    const y = recall(node.outputs[0]!);
    const sum = g.op('ReduceSum', [g.op('Mul', [outputs[0]!, y]), g.integers([-1])], { keepdims: 1 });
    return [g.op('Mul', [g.op('Sub', [outputs[0]!, sum]), y])];
  },
  ReduceMean: (context) => {
    const { g, node, precision, shape } = context;
    const fromShape = shape(node.inputs[0]!);
    const sizes = intsAttribute(node, 'axes').map((axis) => fromShape.at(axis)!);
    const count = sizes.reduce((total, { factor }) => total * factor, 1);
    return [g.op('Mul', [expandGradient(context), g.floats(precision, [1 / count], [])])];
  },
  ReduceSum: (context) => [expandGradient(context)],
  Transpose: ({ g, node, outputs }) => {
    const perm = intsAttribute(node, 'perm');
    const inverse = perm.map((_, axis) => perm.indexOf(axis));
    return [g.op('Transpose', [outputs[0]!], { perm: inverse })];
  },
  Reshape: ({ g, node, outputs, size }) => [g.op('Reshape', [outputs[0]!, size(node.inputs[0]!)])],
  Split: (context) => {
    const { g, node, outputs, shape } = context;
    const parts = node.outputs.map((name, index) => outputs[index] ?? zerosLike(context, name));
    return [g.op('Concat', parts, { axis: axisOf(node, shape(node.inputs[0]!)) })];
  },
  Concat: ({ g, node, outputs, shape, size }) => {
    const axis = axisOf(node, shape(node.inputs[0]!));
    const sizes = node.inputs.map((name) => shape(name)[axis]!);
    const sizeOf = (name: Value) => g.op('Slice', [size(name), g.integers([axis]), g.integers([axis + 1])]);
    const lengths = sizes.some(({ symbols }) => symbols.length > 0)
      ? g.op('Concat', node.inputs.map(sizeOf), { axis: 0 })
      : g.integers(sizes.map(({ factor }) => factor));
    return g.addNode('Split', [outputs[0]!, lengths], sizes.length, { axis });
  },
  /** Selects rows. Gathers the gradients back by the inverse, if known; otherwise sums those of repeated rows. */
  Gather: (context) => {
    const { g, node, outputs, inverse } = context;
    const [table, indices] = node.inputs as [Value, Value];
    const width = g.op('Slice', [g.op('Shape', [table]), g.integers([1]), g.integers([2])]);
    const rowShape = g.op('Concat', [g.integers([-1]), width], { axis: 0 });
    const rows = g.op('Reshape', [outputs[0]!, rowShape]);
    const inverseIndices = inverse(indices);
    if (inverseIndices !== undefined) return [g.op('Gather', [rows, inverseIndices], { axis: 0 })];
    const rowIndices = g.op('Reshape', [g.cast(indices, 'int64'), g.integers([-1, 1])]);
    // On the CPU, ScatterND adds duplicate rows from several threads in no fixed order.
    if (g.usesShaders)
      return [g.op('ScatterND', [zerosLike(context, table), rowIndices, rows], { reduction: 'add' })];
    const expandedIndices = g.op('Expand', [rowIndices, g.op('Shape', [rows])]);
    const zeros = zerosLike(context, table);
    return [g.op('ScatterElements', [zeros, expandedIndices, rows], { axis: 0, reduction: 'add' })];
  },
  GatherElements: (context) => {
    const { g, node, outputs, shape } = context;
    const [data, indices] = node.inputs as [Value, Value];
    const attributes = { axis: axisOf(node, shape(data)), reduction: 'add' };
    return [g.op('ScatterElements', [zerosLike(context, data), indices, outputs[0]!], attributes)];
  },
  /** Scatter-add; indices may repeat. */
  ScatterElements: ({ g, node, outputs, shape }) => {
    const [data, indices] = node.inputs as [Value, Value, Value];
    const axis = axisOf(node, shape(data));
    return [outputs[0]!, undefined, g.op('GatherElements', [outputs[0]!, indices], { axis })];
  },
  Expand: (context) => {
    const { node, outputs } = context;
    return [reduceTo(context, outputs[0]!, node.outputs[0]!, node.inputs[0]!)];
  },
  /** y = a·b + bias, where a and b may be transposed and the bias is broadcast over rows. */
  Gemm: (context) => {
    const { g, node, outputs, needsGradient, recall } = context;
    const [a, b, bias] = node.inputs as [Value, Value, Value | undefined];
    const dy = outputs[0]!;
    const transA = intAttribute(node, 'transA', 0);
    const transB = intAttribute(node, 'transB', 0);
    const da = () =>
      transA === 1
        ? g.op('Gemm', [recall(b), dy], { ...(transB === 1 && { transA: 1 }), transB: 1 })
        : g.op('Gemm', [dy, recall(b)], { transB: 1 - transB });
    const db = () =>
      transB === 1
        ? g.op('Gemm', [dy, recall(a)], { transA: 1, ...(transA === 1 && { transB: 1 }) })
        : g.op('Gemm', [recall(a), dy], transA === 1 ? {} : { transA: 1 });
    return [
      needsGradient(0) ? da() : undefined,
      needsGradient(1) ? db() : undefined,
      bias !== undefined && needsGradient(2) ? reduceTo(context, dy, node.outputs[0]!, bias) : undefined,
    ];
  },
  MatMulNBits: quantizedProductRule,
  [int8ProductOp]: int8ProductRule,
  /** Both inputs have the same batch dimensions. */
  MatMul: (context) => {
    const { g, node, outputs, needsGradient, shape, recall } = context;
    const [a, b] = node.inputs as [Value, Value];
    const dy = outputs[0]!;
    const rank = shape(node.outputs[0]!).length;
    const perm = [...Array(rank - 2).keys(), rank - 1, rank - 2];
    const transpose = (value: Value) => g.op('Transpose', [recall(value)], { perm });
    return [
      needsGradient(0) ? g.op('MatMul', [dy, transpose(b)]) : undefined,
      needsGradient(1) ? g.op('MatMul', [transpose(a), dy]) : undefined,
    ];
  },
};

/** Sums each gradient over the axes along which its input was broadcast. */
function broadcastRule(
  context: RuleContext,
  gradientsOf: (dy: Value) => readonly [() => Value, () => Value],
): readonly (Value | undefined)[] {
  const { node, outputs, needsGradient } = context;
  return gradientsOf(outputs[0]!).map((gradient, index) =>
    needsGradient(index) ? reduceTo(context, gradient(), node.outputs[0]!, node.inputs[index]!) : undefined,
  );
}

/** @param order returns the node's inputs as [x, y] such that the result is the node's first input where x ≤ y */
function extremeRule(
  context: RuleContext,
  order: (inputs: readonly [Value, Value]) => readonly [Value, Value],
): readonly (Value | undefined)[] {
  const { g, node, precision, recall } = context;
  const inputs = order(node.inputs as [Value, Value]).map(recall);
  const first = g.cast(g.op('LessOrEqual', inputs), precision);
  const second = () => g.op('Sub', [g.floats(precision, [1], []), first]);
  return broadcastRule(context, (dy) => [() => g.op('Mul', [dy, first]), () => g.op('Mul', [dy, second()])]);
}

/** Sums a gradient shaped like `from` over the axes along which `to` was broadcast. */
function reduceTo({ g, shape }: RuleContext, gradient: Value, from: Value, to: Value): Value {
  const extraAxes = shape(from).length - shape(to).length;
  const leadingAxes = Array.from({ length: extraAxes }, (_, axis) => axis);
  const unitAxes = shape(to).flatMap((size, axis) =>
    isUnit(size) && !isUnit(shape(from)[axis + extraAxes]!) ? [axis] : [],
  );
  let reduced = gradient;
  if (extraAxes > 0) reduced = g.op('ReduceSum', [reduced, g.integers(leadingAxes)], { keepdims: 0 });
  if (unitAxes.length > 0) reduced = g.op('ReduceSum', [reduced, g.integers(unitAxes)], { keepdims: 1 });
  return reduced;
}

/** Broadcasts the gradient of a reduction back over the reduced axes, which must be leading if they were dropped. */
function expandGradient({ g, node, outputs, size }: RuleContext): Value {
  return g.op('Expand', [outputs[0]!, size(node.inputs[0]!)]);
}

function zerosLike({ g, precision, size }: RuleContext, value: Value): Value {
  return g.op('Expand', [g.floats(precision, [0], []), size(value)]);
}
