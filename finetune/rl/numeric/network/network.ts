/** A differentiable function from rows of inputs to rows of outputs, run by ONNX Runtime. */

import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import { GraphBuilder, type Precision, type Value } from '../../../../src/models/local/graph/graph.js';
import { emitGradients } from '../../../engine/autodiff.js';
import { elementCount, type ParameterShape } from '../../../engine/trainable.js';

export type Row = Float64Array;

export interface NetworkDefinition {
  readonly parameters: readonly ParameterShape[];
  readonly outputs: number;
  readonly precision: Precision;
  /** Maximum number of rows to compute together, starting at `from`; at least 1. */
  rowsAtOnce(rows: readonly Row[], from: number): number;
  /** Adds the inputs to the graph and returns the outputs [B, outputs]. */
  emit(g: GraphBuilder, parameters: ReadonlyMap<string, Value>): Value;
  feeds(rows: readonly Row[]): Record<string, ort.Tensor>;
}

/**
 * Computes outputs y(θ, x) for N rows x, and products with the Jacobian J = ∂y/∂θ. Output rows are
 * concatenated; θ contains all parameters in the definition's order.
 */
export interface NumericNetwork {
  readonly size: number;
  /** @returns y [N × outputs] */
  forward(theta: Float64Array, rows: readonly Row[]): Promise<Float64Array>;
  /** @returns Jᵀ·u, of θ's length, for u [N × outputs] */
  vectorJacobian(theta: Float64Array, rows: readonly Row[], u: Float64Array): Promise<Float64Array>;
  /** @returns J·v [N × outputs] for v of θ's length */
  jacobianVector(theta: Float64Array, rows: readonly Row[], v: Float64Array): Promise<Float64Array>;
  close(): Promise<void>;
}

type Purpose = 'forward' | 'vectorJacobian' | 'jacobianVector';

export function openNetwork(definition: NetworkDefinition, threads: number): NumericNetwork {
  const { parameters, outputs, precision } = definition;
  const sessions = new Map<Purpose, Promise<ort.InferenceSession>>();
  const session = (purpose: Purpose) => {
    const opened = sessions.get(purpose) ?? openSession(definition, purpose, threads);
    sessions.set(purpose, opened);
    return opened;
  };
  const size = parameters.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  const tensors = (prefix: string, values: Float64Array) => splitTensors(values, definition, prefix);
  const tensor = (values: Float64Array, width: number) =>
    new ort.Tensor(precision, convert(values, precision), [values.length / width, width]);
  async function runBatches(
    purpose: Purpose,
    rows: readonly Row[],
    common: Record<string, ort.Tensor>,
    u: Float64Array,
    take: (results: ort.InferenceSession.OnnxValueMapType, from: number) => void,
  ): Promise<void> {
    const opened = await session(purpose);
    for (let from = 0; from < rows.length; ) {
      const to = Math.min(rows.length, from + definition.rowsAtOnce(rows, from));
      const feeds = { ...common, ...definition.feeds(rows.slice(from, to)) };
      if (purpose !== 'forward') feeds.u = tensor(u.subarray(from * outputs, to * outputs), outputs);
      take(await opened.run(feeds), from);
      from = to;
    }
  }
  const outputRows = async (purpose: Purpose, rows: readonly Row[], common: Record<string, ort.Tensor>) => {
    const y = new Float64Array(rows.length * outputs);
    await runBatches(purpose, rows, common, y, (results, from) => {
      y.set(results.y!.data as Float64Array, from * outputs);
    });
    return y;
  };
  return {
    size,
    forward: (theta, rows) => outputRows('forward', rows, tensors('', theta)),
    async vectorJacobian(theta, rows, u) {
      const total = new Float64Array(size);
      await runBatches('vectorJacobian', rows, tensors('', theta), u, (results) => {
        let offset = 0;
        for (const { name, shape } of parameters) {
          const part = results[`grad.${name}`]?.data as Float64Array | undefined;
          part?.forEach((slope, i) => {
            total[offset + i]! += slope;
          });
          offset += elementCount(shape);
        }
      });
      return total;
    },
    jacobianVector: (theta, rows, v) =>
      outputRows('jacobianVector', rows, { ...tensors('', theta), ...tensors('v.', v) }),
    async close() {
      const opened = [...sessions.values()];
      sessions.clear();
      for (const one of opened) await (await one).release();
    },
  };
}

async function openSession(
  definition: NetworkDefinition,
  purpose: Purpose,
  threads: number,
): Promise<ort.InferenceSession> {
  const { model, folder } = buildNetwork(definition, purpose);
  return ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
    enableMemPattern: false,
    // In float64, avoid fused operators, because they round differently from the operators they replace.
    graphOptimizationLevel: definition.precision === 'float64' ? 'basic' : 'all',
    ...(folder !== undefined && {
      extra: { session: { model_external_initializers_file_folder_path: folder } },
    }),
  });
}

/**
 * Builds the graph for y, Jᵀ·u or J·v. Jᵀ·u is the gradient of Σ u·y. It is linear in u, so the gradient of
 * v·(Jᵀ·u) with respect to u is J·v (the “double backward trick” of J. Townsend, 2017).
 */
function buildNetwork(definition: NetworkDefinition, purpose: Purpose) {
  const { parameters, outputs, precision } = definition;
  const g = new GraphBuilder();
  const inputs = new Map(parameters.map(({ name, shape }) => [name, g.input(name, precision, shape)]));
  const y = definition.emit(g, inputs);
  if (purpose === 'forward') {
    g.output('y', y, precision, ['B', outputs]);
    return g.build(purpose);
  }
  const u = g.input('u', precision, ['B', outputs]);
  const gradientByName = emitGradients(g, dot(g, u, y), [...inputs.values()], precision);
  if (purpose === 'vectorJacobian') {
    for (const { name, shape } of parameters) {
      const gradient = gradientByName.get(name);
      if (gradient !== undefined) g.output(`grad.${name}`, gradient, precision, shape);
    }
    return g.build(purpose);
  }
  const parts = parameters.flatMap(({ name, shape }) => {
    const gradient = gradientByName.get(name);
    const direction = g.input(`v.${name}`, precision, shape);
    return gradient === undefined ? [] : [dot(g, gradient, direction)];
  });
  const total = parts.reduce((a, b) => g.op('Add', [a, b]));
  g.output('y', emitGradients(g, total, [u], precision).get(u)!, precision, ['B', outputs]);
  return g.build(purpose);
}

const dot = (g: GraphBuilder, a: Value, b: Value) =>
  g.op('ReduceSum', [g.op('Mul', [a, b])], { keepdims: 0 });

const convert = (values: Float64Array, precision: Precision) =>
  precision === 'float64' ? values : Float32Array.from(values);

function splitTensors(
  theta: Float64Array,
  { parameters, precision }: NetworkDefinition,
  prefix: string,
): Record<string, ort.Tensor> {
  const values = convert(theta, precision);
  const tensors: Record<string, ort.Tensor> = {};
  let offset = 0;
  for (const { name, shape } of parameters) {
    const part = values.subarray(offset, offset + elementCount(shape));
    tensors[`${prefix}${name}`] = new ort.Tensor(precision, part, [...shape]);
    offset += part.length;
  }
  return tensors;
}

export interface LayerSizes {
  readonly inputs: number;
  readonly hidden: readonly number[];
  readonly outputs: number;
  readonly activation: 'tanh' | 'relu';
}

/** Maximum rows per batch; larger batches don't fit into the CPU's caches. */
const maxRows = 2048;

export function mlpDefinition(layers: LayerSizes): NetworkDefinition {
  const { inputs, outputs } = layers;
  return {
    parameters: layerShapes(layers),
    outputs,
    precision: 'float64',
    rowsAtOnce: () => maxRows,
    emit: (g, parameters) =>
      emitLayers(g, g.input('x', 'float64', ['B', inputs]), parameters, layers.activation),
    feeds: (rows) => ({ x: new ort.Tensor('float64', concatRows(rows), [rows.length, inputs]) }),
  };
}

/** Weight [out, in] and bias [out] of each layer, like PyTorch's `nn.Linear`. */
export function layerShapes({ inputs, hidden, outputs }: LayerSizes): ParameterShape[] {
  const widths = [inputs, ...hidden, outputs];
  return widths.slice(1).flatMap((out, i) => [
    { name: `layers.${i}.weight`, shape: [out, widths[i]!] },
    { name: `layers.${i}.bias`, shape: [out] },
  ]);
}

/** Adds the layers to the graph, applied to x [B, inputs]; the last one has no activation. */
export function emitLayers(
  g: GraphBuilder,
  x: Value,
  parameters: ReadonlyMap<string, Value>,
  activation: LayerSizes['activation'],
): Value {
  let y = x;
  for (let i = 0; parameters.has(`layers.${i}.weight`); i++) {
    if (i > 0) y = g.op(activation === 'tanh' ? 'Tanh' : 'Relu', [y]);
    const weight = parameters.get(`layers.${i}.weight`)!;
    y = g.op('Gemm', [y, weight, parameters.get(`layers.${i}.bias`)!], { transB: 1 });
  }
  return y;
}

/**
 * Initial values: uniform in ±1/√in like PyTorch's linear layers. The last layer's weights are a tenth of
 * that and its bias is 0, so the initial policy hardly depends on the observation.
 */
export function initialLayers(layers: LayerSizes, random: RandomGenerator): Float64Array {
  const shapes = layerShapes(layers);
  const values = shapes.flatMap(({ shape }, i) => {
    const bound = 1 / Math.sqrt(shapes[i - (i % 2)]!.shape[1]!);
    const isLast = i >= shapes.length - 2;
    const factor = isLast ? (shape.length === 2 ? 0.1 : 0) : 1;
    return Array.from({ length: elementCount(shape) }, () => factor * random.uniform(-bound, bound));
  });
  return Float64Array.from(values);
}

export function concatRows(rows: readonly Row[]): Float64Array {
  const result = new Float64Array(rows.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const row of rows) {
    result.set(row, offset);
    offset += row.length;
  }
  return result;
}
