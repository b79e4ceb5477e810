/** Multilayer perceptrons: linear layers with an activation in between. */
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import type { GraphBuilder, Value } from '../../../../src/models/local/graph/graph.js';
import type { RandomGenerator } from '../../../../src/random/generator.js';
import { elementCount, type ParameterShape } from '../../../engine/trainable.js';
import type { NetworkDefinition, Row } from './network.js';

export interface Layers {
  readonly inputs: number;
  /** Widths of the hidden layers. */
  readonly hidden: readonly number[];
  readonly outputs: number;
  readonly activation: 'tanh' | 'relu';
}

/** Larger batches no longer fit into the CPU caches. */
const rowsAtOnce = 2048;

export function mlpDefinition(layers: Layers): NetworkDefinition {
  const { inputs, outputs } = layers;
  return {
    parameters: layerShapes(layers),
    outputs,
    precision: 'float64',
    rowsAtOnce: () => rowsAtOnce,
    emit: (g, parameters) =>
      emitLayers(g, g.input('x', 'float64', ['B', inputs]), parameters, layers.activation),
    feeds: (rows) => ({ x: new ort.Tensor('float64', joined(rows, inputs), [rows.length, inputs]) }),
  };
}

/** Weight [out, in] and bias [out] of each layer, like PyTorch's `nn.Linear`. */
export function layerShapes({ inputs, hidden, outputs }: Layers): ParameterShape[] {
  const widths = [inputs, ...hidden, outputs];
  return widths.slice(1).flatMap((out, i) => [
    { name: `layers.${i}.weight`, shape: [out, widths[i]!] },
    { name: `layers.${i}.bias`, shape: [out] },
  ]);
}

/** Emits the layers on x [B, inputs]; the last one has no activation. */
export function emitLayers(
  g: GraphBuilder,
  x: Value,
  parameters: ReadonlyMap<string, Value>,
  activation: Layers['activation'],
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
export function initialLayers(layers: Layers, random: RandomGenerator): Float64Array {
  const shapes = layerShapes(layers);
  const values = shapes.flatMap(({ shape }, i) => {
    const bound = 1 / Math.sqrt(shapes[i - (i % 2)]!.shape[1]!);
    const last = i >= shapes.length - 2;
    const factor = last ? (shape.length === 2 ? 0.1 : 0) : 1;
    return Array.from({ length: elementCount(shape) }, () => factor * random.uniform(-bound, bound));
  });
  return Float64Array.from(values);
}

/** Concatenates rows into one flat array. */
export function joined(rows: readonly Row[], width: number): Float64Array {
  const all = new Float64Array(rows.length * width);
  rows.forEach((row, i) => {
    all.set(row, i * width);
  });
  return all;
}
