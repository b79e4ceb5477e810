import type { Numbers } from './training-session.js';

export type Gradients = ReadonlyMap<string, Numbers>;

/** Euclidean norm over all parameters together. */
export function gradientNorm(gradients: Gradients): number {
  let sum = 0;
  for (const gradient of gradients.values()) for (const slope of gradient) sum += slope * slope;
  return Math.sqrt(sum);
}

/** Factor that brings a gradient of the given norm down to `maximum`, as PyTorch's `clip_grad_norm_` computes it. */
export function clipFactor(norm: number, maximum: number | undefined): number {
  return maximum === undefined ? 1 : Math.min(1, maximum / (norm + 1e-6));
}

/** Adds the gradients of one more part of the batch, in place. The first part is taken as it is. */
export function accumulate(sum: Gradients | undefined, part: Gradients): Gradients {
  if (sum === undefined) return part;
  for (const [name, gradient] of part) {
    const total = sum.get(name)!;
    for (let i = 0; i < total.length; i++) total[i] = total[i]! + gradient[i]!;
  }
  return sum;
}
