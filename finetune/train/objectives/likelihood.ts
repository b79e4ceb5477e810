import type { Value } from '../../../src/models/local/graph/graph.js';
import type { Objective, TokenValues } from '../../engine/objective.js';

/** An additional head next to the language-model head. */
interface Head extends Pick<Objective, 'parameters'> {
  outputs(tokens: TokenValues): Readonly<Record<string, Value>>;
}

/** Evaluates completions without training: log-probabilities and entropies [C], with −Σ logp as the loss. */
export function likelihood(temperature: number, head?: Head): Objective {
  return {
    temperature,
    ...(head?.parameters && { parameters: head.parameters }),
    build: (tokens) => {
      const { g, logp, entropy } = tokens;
      return {
        loss: g.op('Neg', [g.op('ReduceSum', [logp], { keepdims: 0 })]),
        outputs: { entropy: entropy(), ...head?.outputs(tokens) },
      };
    },
  };
}
