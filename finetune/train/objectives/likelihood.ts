import type { Objective } from '../../engine/objective.js';

/** What a model says of completions, not trained: log-probabilities, entropies [C] and −Σ logp as the loss. */
export function likelihood(temperature: number): Objective {
  return {
    temperature,
    build: ({ g, logp, entropy }) => ({
      loss: g.op('Neg', [g.op('ReduceSum', [logp], { keepdims: 0 })]),
      outputs: { entropy: entropy() },
    }),
  };
}
