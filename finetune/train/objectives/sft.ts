/** Supervised fine-tuning: the weighted mean of −log p over the answers' tokens. */
import { type InputsOf, type TokenExample, trainedLength } from '../../engine/batch.js';
import type { Objective } from '../../engine/objective.js';

/** −Σ weights·logp */
export const sft: Objective = {
  build: ({ g, logp, input }) => ({
    loss: g.op('Neg', [g.op('ReduceSum', [g.op('Mul', [logp, input('weights')])], { keepdims: 0 })]),
  }),
};

/**
 * @param examples all examples that the loss is averaged over; the losses and gradients of their batches add
 *   up
 */
export function sftInputs(examples: readonly TokenExample[]): InputsOf<TokenExample> {
  const normalizer = totalWeight(examples);
  return ({ factors, weight }) => ({
    weights: factors?.map((factor) => (factor * weight) / normalizer) ?? weight / normalizer,
  });
}

/** Σ |weight|·factor over the trained tokens: the divisor that makes the loss a mean. */
function totalWeight(examples: readonly TokenExample[]): number {
  return examples.reduce((sum, example) => sum + Math.abs(example.weight) * factorsOf(example), 0);
}

const factorsOf = (example: TokenExample): number =>
  example.factors?.reduce((sum, factor) => sum + factor, 0) ?? trainedLength(example);
