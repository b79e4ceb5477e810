/** Objectives of supervised training: the likelihood of replies (SFT), and preferences between them (DPO). */
import { type Family, type GetInputs, type TokenExample, trainedLength } from '../../engine/batch.js';
import type { Objective, TokenValues } from '../../engine/objective.js';
import type { ValuesPerToken } from './sampled.js';
import { arithmetic, groupSum } from './terms.js';

/** −Σ weights·logp */
export const sft: Objective = {
  build: ({ g, logp, input }) => ({
    loss: g.op('Neg', [g.op('ReduceSum', [g.op('Mul', [logp, input('weights')])], { keepdims: 0 })]),
  }),
};

/** @param examples all examples that the loss averages over, so that the losses and gradients of parts add up */
export function sftInputs(examples: readonly TokenExample[]): GetInputs<TokenExample> {
  const normalizer = totalWeight(examples);
  return ({ factors, weight }) => ({
    weights: factors?.map((factor) => (factor * weight) / normalizer) ?? weight / normalizer,
  });
}

/** Σ |weight|·factor over the trained tokens: the divisor that makes the loss a mean. */
function totalWeight(examples: readonly TokenExample[]): number {
  return examples.reduce((sum, example) => sum + Math.abs(example.weight) * factorSum(example), 0);
}

const factorSum = (example: TokenExample): number =>
  example.factors?.reduce((sum, factor) => sum + factor, 0) ?? trainedLength(example);

export interface ComparedExample {
  readonly isChosen: boolean;
  /** Log-probabilities under the initial model. */
  readonly referenceLogp: ValuesPerToken;
}

/** DPO (Rafailov et al. 2023, arXiv 2305.18290): the weighted mean over pairs (families) of −log σ(β·margin). */
export function dpo(beta: number): Objective {
  return {
    build(tokens) {
      const { logp, input } = tokens;
      const { number, sub, mul, neg, total } = arithmetic(tokens);
      const gain = mul(input('signs'), sub(logp, input('reference_logp')));
      const margin = groupSum(tokens, tokens.groups('families'), gain);
      return {
        loss: neg(total(mul(input('weights'), logSigmoid(tokens, mul(margin, number(beta)))))),
        outputs: { margin },
      };
    },
  };
}

/** log σ(x) = −log(1 + e⁻ˣ), computed as −m − log(e⁻ᵐ + e⁻ˣ⁻ᵐ) with m = max(0, −x) so no exponential overflows. */
function logSigmoid(tokens: TokenValues, x: string): string {
  const { number, add, sub, neg, max, exp, log } = arithmetic(tokens);
  const m = tokens.detach(max(neg(x), number(0)));
  return neg(add(m, log(add(exp(neg(m)), exp(sub(neg(x), m))))));
}

/** @param pairs all pairs that the loss averages over; both replies of a pair have the same weight */
export function dpoInputs<E extends TokenExample>(
  pairs: readonly Family<E>[],
  comparisons: ReadonlyMap<E, ComparedExample>,
): GetInputs<E> {
  const total = pairs.reduce((sum, [first]) => sum + Math.abs(first!.weight), 0);
  const shares = new Map<E, number>();
  for (const pair of pairs) {
    const tokenCount = pair.reduce((sum, example) => sum + trainedLength(example), 0);
    for (const example of pair) shares.set(example, example.weight / (total * tokenCount));
  }
  return (example) => {
    const { isChosen, referenceLogp } = comparisons.get(example)!;
    return { weights: shares.get(example)!, signs: isChosen ? 1 : -1, reference_logp: referenceLogp };
  };
}
