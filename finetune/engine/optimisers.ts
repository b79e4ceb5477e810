import { ort } from '../../src/models/local/engine/onnx-runtime.js';
import { GraphBuilder, type Value } from '../../src/models/local/graph/graph.js';
import type { FloatArray, Parameter } from './training-session.js';

export const scheduleKinds = ['constant', 'linear', 'cosine'] as const;

export interface RateSchedule {
  readonly kind: (typeof scheduleKinds)[number];
  /** Number of steps over which the rate rises to its peak. */
  readonly warmupSteps: number;
  /** Total number of steps; `linear` and `cosine` reach the floor after the last one. */
  readonly totalSteps: number;
  /** Final rate of `linear` and `cosine` as a fraction of the peak, in [0, 1]. */
  readonly floor: number;
}

/** Returns the fraction of the peak rate at a zero-based step. A warm-up starts with 1/warmupSteps, not with 0. */
export function scheduleFactor({ kind, warmupSteps, totalSteps, floor }: RateSchedule, step: number): number {
  if (step < warmupSteps) return (step + 1) / warmupSteps;
  const progress = Math.min(1, (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps));
  switch (kind) {
    case 'constant':
      return 1;
    case 'linear':
      return floor + (1 - floor) * (1 - progress);
    case 'cosine':
      return floor + ((1 - floor) * (1 + Math.cos(Math.PI * progress))) / 2;
  }
}

/** AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101), with PyTorch's formula and order of operations. */
export interface AdamWSettings {
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  /** Decoupled: each step shrinks the weights by learning rate × weight decay. */
  readonly weightDecay: number;
}

/** True for parameters subject to weight decay: matrices but not norms and biases, as in Transformers' Trainer. */
export const isDecayed = ({ shape }: Pick<Parameter, 'shape'>): boolean => shape.length > 1;

export interface Moments {
  readonly first: FloatArray;
  readonly second: FloatArray;
}

export function zeroMoments({ values }: Pick<Parameter, 'values'>): Moments {
  const zeros = () => values.map(() => 0);
  return { first: zeros(), second: zeros() };
}

/** Updates values and moments in place; `step` is one-based, and `scale` multiplies the gradient (clipping). */
export function adamWStep(
  values: FloatArray,
  gradient: FloatArray,
  { first, second }: Moments,
  learningRate: number,
  step: number,
  { betas: [beta1, beta2], epsilon, weightDecay }: AdamWSettings,
  scale = 1,
): void {
  const decay = 1 - learningRate * weightDecay;
  const stepSize = learningRate / (1 - beta1 ** step);
  const rootCorrection = Math.sqrt(1 - beta2 ** step);
  for (let i = 0; i < values.length; i++) {
    const slope = gradient[i]! * scale;
    const mean = first[i]! + (slope - first[i]!) * (1 - beta1);
    const meanSquare = second[i]! * beta2 + (1 - beta2) * slope * slope;
    first[i] = mean;
    second[i] = meanSquare;
    values[i] = values[i]! * decay - (stepSize * mean) / (Math.sqrt(meanSquare) / rootCorrection + epsilon);
  }
}

/**
 * Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon): five Newton–Schulz steps bring the singular
 * values of the momentum close to 1. Steps are scaled to the size of AdamW's steps (Liu et al. 2025, arXiv
 * 2502.16982), so both share a learning rate and a weight decay.
 */
export interface MuonSettings {
  readonly momentum: number;
  /** Decoupled weight decay, as in AdamW. */
  readonly weightDecay: number;
}

/** True for parameters that Muon updates: matrices of layers, but not embeddings, heads or adapter factors. */
export function isMuonMatrix({ name, shape }: Parameter): boolean {
  return shape.length === 2 && /\.\d+\./.test(name) && !name.includes('.lora_');
}

export interface Muon {
  /** Updates values and momentum (`moments.first`) in place. */
  step(
    parameter: Parameter,
    gradient: FloatArray,
    moments: Moments,
    learningRate: number,
    scale: number,
  ): Promise<void>;
  close(): Promise<void>;
}

export async function openMuon(settings: MuonSettings, threads: number): Promise<Muon> {
  const options = { intraOpNumThreads: threads, logSeverityLevel: 3 } as const;
  const open = (isTall: boolean) => ort.InferenceSession.create(buildOrthogonalizer(isTall).model, options);
  const [wideSession, tallSession] = [await open(false), await open(true)];
  const { momentum, weightDecay } = settings;
  return {
    async step({ shape, values }, gradient, { first }, learningRate, scale) {
      const [rows, columns] = shape as [number, number];
      const direction = new Float32Array(values.length);
      for (let i = 0; i < direction.length; i++) {
        const slope = gradient[i]! * scale;
        const mean = momentum * first[i]! + (1 - momentum) * slope;
        first[i] = mean;
        // Nesterov momentum.
        direction[i] = momentum * mean + (1 - momentum) * slope;
      }
      const session = rows > columns ? tallSession : wideSession;
      const { y } = await session.run({ x: new ort.Tensor('float32', direction, [rows, columns]) });
      const update = y!.data as Float32Array;
      const updateScale = learningRate * 0.2 * Math.sqrt(Math.max(rows, columns));
      const decay = 1 - learningRate * weightDecay;
      for (let i = 0; i < values.length; i++) values[i] = values[i]! * decay - updateScale * update[i]!;
    },
    async close() {
      await wideSession.release();
      await tallSession.release();
    },
  };
}

/** Coefficients of the polynomial a·x + b·x³ + c·x⁵, which pushes singular values in (0, 1] towards 1. */
const [a, b, c] = [3.4445, -4.775, 2.0315];

/** Builds a graph that maps x [R, C] to y with singular values near 1, using the smaller Gram matrix. */
function buildOrthogonalizer(isTall: boolean) {
  const g = new GraphBuilder();
  const input = g.input('x', 'float32', ['R', 'C']);
  const scalar = (value: number) => g.floats('float32', [value], []);
  const times = (value: Value, factor: number) => g.op('Mul', [value, scalar(factor)]);
  const transpose = (value: Value) => g.op('Transpose', [value], { perm: [1, 0] });
  const squareSum = g.op('ReduceSum', [g.op('Mul', [input, input])], { keepdims: 0 });
  const norm = g.op('Add', [g.op('Sqrt', [squareSum]), scalar(1e-7)]);
  let x = g.op('Div', [input, norm]);
  for (let step = 0; step < 5; step++) {
    const gram = isTall ? g.op('MatMul', [transpose(x), x]) : g.op('MatMul', [x, transpose(x)]);
    const polynomial = g.op('Add', [times(gram, b), times(g.op('MatMul', [gram, gram]), c)]);
    x = g.op('Add', [times(x, a), g.op('MatMul', isTall ? [x, polynomial] : [polynomial, x])]);
  }
  g.output('y', x, 'float32', ['R', 'C']);
  return g.build('muon');
}
