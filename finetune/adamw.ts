/** AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101), in the form and order of operations of PyTorch's. */
import type { Numbers, Parameter } from './training-session.js';

export interface AdamWSettings {
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  /** Decoupled: weights shrink by learning rate × this in every step. */
  readonly weightDecay: number;
}

/** Running means of the gradient and of its square, one of each a parameter. */
export interface Moments {
  readonly first: Numbers;
  readonly second: Numbers;
}

export function zeroMoments(parameter: Parameter): Moments {
  const zeros = () =>
    parameter.values instanceof Float32Array
      ? new Float32Array(parameter.values.length)
      : new Float64Array(parameter.values.length);
  return { first: zeros(), second: zeros() };
}

/**
 * Updates values and moments in place.
 * @param step 1 for the first
 * @param scale what the gradient is multiplied with first (clipping)
 */
export function adamWStep(
  values: Numbers,
  gradient: Numbers,
  { first, second }: Moments,
  learningRate: number,
  step: number,
  { betas: [beta1, beta2], epsilon, weightDecay }: AdamWSettings,
  scale = 1,
): void {
  const shrink = 1 - learningRate * weightDecay;
  const stepSize = learningRate / (1 - beta1 ** step);
  const rootCorrection = Math.sqrt(1 - beta2 ** step);
  for (let i = 0; i < values.length; i++) {
    const slope = gradient[i]! * scale;
    const mean = first[i]! + (slope - first[i]!) * (1 - beta1);
    const square = second[i]! * beta2 + (1 - beta2) * slope * slope;
    first[i] = mean;
    second[i] = square;
    values[i] = values[i]! * shrink - (stepSize * mean) / (Math.sqrt(square) / rootCorrection + epsilon);
  }
}
