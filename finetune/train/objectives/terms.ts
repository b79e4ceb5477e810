/** Building blocks of objectives: sums over sequences, ratios, the clipped surrogate and KL. */

import type { Value } from '../../../src/models/local/graph/graph.js';
import type { Objective, TokenValues } from '../../engine/objective.js';
import type { ClipSettings, CommonSettings } from './settings.js';

export function arithmetic({ g, precision }: TokenValues) {
  const binary = (op: string) => (a: Value, b: Value) => g.op(op, [a, b]);
  const unary = (op: string) => (a: Value) => g.op(op, [a]);
  return {
    number: (value: number) => g.floats(precision, [value], []),
    add: binary('Add'),
    sub: binary('Sub'),
    mul: binary('Mul'),
    min: binary('Min'),
    max: binary('Max'),
    neg: unary('Neg'),
    exp: unary('Exp'),
    log: unary('Log'),
    /** Σ over all tokens; scalar. */
    total: (a: Value) => g.op('ReduceSum', [a], { keepdims: 0 }),
  };
}

/** For each token, the sum over the tokens of its group: [C]. */
export function groupSum(tokens: TokenValues, groups: Value, values: Value): Value {
  const { g, logp, precision } = tokens;
  const zeros = g.op('Expand', [g.floats(precision, [0], []), g.op('Shape', [logp])]);
  const sums = g.op('ScatterElements', [zeros, groups, values], { axis: 0, reduction: 'add' });
  return g.op('GatherElements', [sums, groups], { axis: 0 });
}

/** Log-probabilities before the update. Unless completions are reused, these are the current log-probabilities. */
export function oldLogp({ logp, input, detach }: TokenValues, reused: boolean): Value {
  return reused ? input('old_logp') : detach(logp);
}

/** π / π_old per token. */
export function importanceRatio(tokens: TokenValues, oldLogps: Value): Value {
  const { sub, exp } = arithmetic(tokens);
  return exp(sub(tokens.logp, oldLogps));
}

/** min(ρ·A, clip(ρ, 1 − low, 1 + high)·A), the PPO surrogate (Schulman et al. 2017, arXiv 1707.06347). */
export function clippedSurrogate(
  tokens: TokenValues,
  ratio: Value,
  advantages: Value,
  { low, high }: ClipSettings,
): Value {
  const { number, mul, min, max } = arithmetic(tokens);
  const clipped = max(min(ratio, number(1 + high)), number(1 - low));
  return min(mul(ratio, advantages), mul(clipped, advantages));
}

/**
 * ρ·(exp(d) − d − 1) with d = log π_ref − log π: the estimate k3 of KL(π ‖ π_ref) (Schulman 2020), times the ratio,
 * which makes its gradient unbiased (DeepSeek-V3.2, arXiv 2512.02556).
 */
export function klToReference(tokens: TokenValues, ratio: Value): Value {
  const { number, sub, mul, exp } = arithmetic(tokens);
  const difference = sub(tokens.input('reference_logp'), tokens.logp);
  return mul(sub(sub(exp(difference), difference), number(1)), ratio);
}

/** −Σ weights·importance·gain − Σ entropy_weights·entropy; `penalize` modifies importance·gain. */
export function policyLoss(
  tokens: TokenValues,
  oldLogps: Value,
  gain: Value,
  settings: CommonSettings,
  penalize: (gain: Value) => Value = (value) => value,
): { readonly loss: Value; readonly outputs: { readonly entropy: Value } } {
  const { mul, sub, neg, total } = arithmetic(tokens);
  const { maxImportance } = settings;
  const weightedGain =
    maxImportance === 0 ? gain : mul(gain, importanceWeights(tokens, oldLogps, maxImportance));
  const corrected = penalize(weightedGain);
  const entropy = tokens.entropy();
  const loss = neg(total(mul(tokens.input('weights'), corrected)));
  const outputs = { entropy };
  if (settings.entropy === 0) return { loss, outputs };
  return { loss: sub(loss, total(mul(tokens.input('entropy_weights'), entropy))), outputs };
}

/** An additional head next to the language-model head. */
interface OutputHead extends Pick<Objective, 'parameters'> {
  outputs(tokens: TokenValues): Readonly<Record<string, Value>>;
}

/** Evaluates completions without training: log-probabilities and entropies [C], with −Σ logp as the loss. */
export function likelihood(temperature: number, head?: OutputHead): Objective {
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

/** Upper limit of log-ratios. Larger ones exceed any sensible maximum, and squares of exponentials could overflow. */
const maxLogRatio = 40;

/** Constant π_old / π_sampler per completion, the product over its tokens; 0 if it is above the maximum. */
function importanceWeights(tokens: TokenValues, oldLogps: Value, maximum: number): Value {
  const { g, precision, input, detach } = tokens;
  const { number, sub, min, mul, exp } = arithmetic(tokens);
  const logRatios = sub(detach(oldLogps), input('sampler_logp'));
  const logRatio = groupSum(tokens, tokens.groups('sequences'), logRatios);
  const ratio = exp(min(logRatio, number(maxLogRatio)));
  return mul(ratio, g.cast(g.op('LessOrEqual', [ratio, number(maximum)]), precision));
}
