import { describe, expect, it } from 'vitest';
import { emitGradients } from '../../../finetune/engine/autodiff.js';
import { gradientRules } from '../../../finetune/engine/gradient-rules.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { GraphBuilder, type Value } from '../../../src/models/local/graph/graph.js';

interface Case {
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly positive?: boolean;
  readonly build: (g: GraphBuilder, x: Readonly<Record<string, Value>>) => readonly Value[];
}

/** Each operator with every kind of input that the decoder gives it. */
const cases: Readonly<Record<string, Case>> = {
  Identity: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Identity', [a!])] },
  Neg: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Neg', [a!])] },
  Exp: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Exp', [a!])] },
  Log: { inputs: { a: [2, 3] }, positive: true, build: (g, { a }) => [g.op('Log', [a!])] },
  Sqrt: { inputs: { a: [2, 3] }, positive: true, build: (g, { a }) => [g.op('Sqrt', [a!])] },
  Tanh: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Tanh', [a!])] },
  /** Tests both sides of the kink. */
  Relu: {
    inputs: { a: [2, 3] },
    build: (g, { a }) => [g.op('Relu', [a!]), g.op('Relu', [g.op('Neg', [a!])])],
  },
  Sigmoid: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Sigmoid', [a!])] },
  Softmax: { inputs: { a: [2, 3, 4] }, build: (g, { a }) => [g.op('Softmax', [a!], { axis: -1 })] },
  Pow: { inputs: { a: [2, 3] }, build: (g, { a }) => [g.op('Pow', [a!, g.floats('float64', [2], [])])] },
  Add: { inputs: { a: [2, 3, 4], b: [4] }, build: (g, { a, b }) => [g.op('Add', [a!, b!])] },
  Sub: { inputs: { a: [3, 1], b: [2, 3, 4] }, build: (g, { a, b }) => [g.op('Sub', [a!, b!])] },
  Mul: { inputs: { a: [2, 3, 4], b: [3, 1] }, build: (g, { a, b }) => [g.op('Mul', [a!, b!])] },
  Div: { inputs: { a: [2, 4], b: [2, 1] }, positive: true, build: (g, { a, b }) => [g.op('Div', [a!, b!])] },
  Min: { inputs: { a: [2, 3, 4], b: [3, 1] }, build: (g, { a, b }) => [g.op('Min', [a!, b!])] },
  Max: { inputs: { a: [4], b: [2, 3, 4] }, build: (g, { a, b }) => [g.op('Max', [a!, b!])] },
  ReduceMean: {
    inputs: { a: [2, 5] },
    build: (g, { a }) => [g.op('ReduceMean', [a!], { axes: [-1], keepdims: 1 })],
  },
  ReduceSum: {
    inputs: { a: [2, 5] },
    build: (g, { a }) => [
      g.op('ReduceSum', [a!], { keepdims: 0 }),
      g.op('ReduceSum', [a!, g.integers([-1])], { keepdims: 1 }),
      g.op('ReduceSum', [a!, g.integers([0])], { keepdims: 0 }),
    ],
  },
  Expand: { inputs: { a: [3, 1] }, build: (g, { a }) => [g.op('Expand', [a!, g.integers([2, 3, 4])])] },
  Transpose: {
    inputs: { a: [2, 3, 4] },
    build: (g, { a }) => [g.op('Transpose', [a!], { perm: [2, 0, 1] })],
  },
  Reshape: { inputs: { a: [2, 3, 4] }, build: (g, { a }) => [g.op('Reshape', [a!, g.integers([4, -1])])] },
  /** Only one part is used; the gradients of the others are zeros. */
  Split: { inputs: { a: [2, 6] }, build: (g, { a }) => [g.addNode('Split', [a!], 3, { axis: -1 })[1]!] },
  Concat: {
    inputs: { a: [2, 3], b: [2, 4] },
    build: (g, { a, b }) => [g.op('Concat', [a!, b!], { axis: -1 })],
  },
  Gather: {
    inputs: { a: [5, 3] },
    build: (g, { a }) => [g.op('Gather', [a!, g.int32s([1, 4, 1, 0], [2, 2])], { axis: 0 })],
  },
  GatherElements: {
    inputs: { a: [3, 4] },
    build: (g, { a }) => [g.op('GatherElements', [a!, g.integers([2, 0, 3], [3, 1])], { axis: 1 })],
  },
  ScatterElements: {
    inputs: { a: [4], b: [5] },
    build: (g, { a, b }) => [
      g.op('ScatterElements', [a!, g.integers([2, 0, 2, 3, 2]), b!], { axis: 0, reduction: 'add' }),
    ],
  },
  Gemm: {
    inputs: { a: [3, 4], b: [2, 4], c: [2], d: [4, 5] },
    build: (g, { a, b, c, d }) => [
      g.op('Gemm', [a!, b!, c!], { transB: 1 }),
      g.op('Gemm', [a!, d!], { transB: 0 }),
      g.op('Gemm', [a!, a!], { transA: 1 }),
      g.op('Gemm', [d!, b!], { transA: 1, transB: 1 }),
    ],
  },
  MatMul: {
    inputs: { a: [2, 2, 3, 4], b: [2, 2, 4, 5] },
    build: (g, { a, b }) => [g.op('MatMul', [a!, b!])],
  },
};

/** Loss Σ exp(y)·y² over all elements of all results, so that no gradient is trivial. */
function squaredSum(g: GraphBuilder, values: readonly Value[]): Value {
  const sums = values.map((value) => {
    const square = g.op('Pow', [value, g.floats('float64', [2], [])]);
    return g.op('ReduceSum', [g.op('Mul', [g.op('Exp', [value]), square])], { keepdims: 0 });
  });
  return sums.reduce((a, b) => g.op('Add', [a, b]));
}

async function check({ inputs, positive, build }: Case): Promise<number> {
  const g = new GraphBuilder();
  const names = Object.keys(inputs);
  const values = Object.fromEntries(names.map((name) => [name, g.input(name, 'float64', inputs[name]!)]));
  const loss = squaredSum(g, build(g, values));
  const found = emitGradients(g, loss, names, 'float64');
  g.output('loss', loss, 'float64', []);
  for (const name of names) g.output(`grad.${name}`, found.get(name)!, 'float64', inputs[name]!);
  const session = await ort.InferenceSession.create(g.build('check').model, {
    graphOptimizationLevel: 'disabled',
  });
  const random = createGenerator(7);
  const data = Object.fromEntries(
    names.map((name) => {
      const size = inputs[name]!.reduce((a, b) => a * b, 1);
      const draw = () => (positive ? random.uniform(0.5, 1.5) : random.normal());
      return [name, Float64Array.from({ length: size }, draw)];
    }),
  );
  const run = async () => {
    const feeds = names.map(
      (name) => [name, new ort.Tensor('float64', data[name]!, [...inputs[name]!])] as const,
    );
    return await session.run(Object.fromEntries(feeds));
  };
  const at = await run();
  const step = 1e-5;
  let largest = 0;
  for (const name of names) {
    const gradient = at[`grad.${name}`]!.data as Float64Array;
    for (let i = 0; i < data[name]!.length; i++) {
      const middle = data[name]![i]!;
      const lossAt = async (x: number) => {
        data[name]![i] = x;
        return ((await run()).loss!.data as Float64Array)[0]!;
      };
      const slope = ((await lossAt(middle + step)) - (await lossAt(middle - step))) / (2 * step);
      data[name]![i] = middle;
      largest = Math.max(largest, Math.abs(slope - gradient[i]!) / Math.max(1, Math.abs(slope)));
    }
  }
  await session.release();
  return largest;
}

describe('gradient rules', () => {
  it.each(Object.entries(cases))('match central differences in float64: %s', async (_, one) => {
    expect(await check(one)).toBeLessThan(1e-6);
  });

  it('are all tested here or belong to quantised products', () => {
    // Products with quantised weights run only in float32, and are tested separately.
    const tested = [...Object.keys(cases), 'MatMulNBits', 'Int8Product'];
    expect(tested.sort()).toEqual(Object.keys(gradientRules).sort());
  });
});

describe('gradients', () => {
  it('add up over all uses of a value', async () => {
    const reused: Case = {
      inputs: { a: [2, 3] },
      build: (g, { a }) => [g.op('Mul', [a!, g.op('Sigmoid', [a!])]), a!],
    };
    expect(await check(reused)).toBeLessThan(1e-6);
  });

  it("can't be computed for an operator without a rule, and the error names the operator", () => {
    const g = new GraphBuilder();
    const a = g.input('a', 'float64', [3]);
    const loss = g.op('ReduceSum', [g.op('Cos', [a])], { keepdims: 0 });
    expect(() => emitGradients(g, loss, [a], 'float64')).toThrow(/Cos .* no gradient rule/);
  });

  it('do not flow through constants', () => {
    const g = new GraphBuilder();
    const a = g.input('a', 'float64', [3]);
    const fixed = g.op('Exp', [a]);
    const loss = g.op('ReduceSum', [fixed], { keepdims: 0 });
    expect(emitGradients(g, loss, [a], 'float64', { constants: [fixed] }).size).toBe(0);
  });
});
