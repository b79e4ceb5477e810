/**
 * Group-relative policy optimization (DeepSeekMath, arXiv 2402.03300) and its variants as in TRL 1.13: DAPO
 * (2503.14476), Dr. GRPO (2503.20783), CISPO (2506.13585) and sequence ratios (GSPO, 2507.18071). The loss is
 * −Σ weights·(min(ρ·A, clip(ρ)·A)·importance − kl·KL). The variants differ in the weights. CISPO also
 * replaces min(ρ·A, clip(ρ)·A) by min(ρ, cap)·A·log π, where min(ρ, cap) is a constant.
 */

import type { GrpoSettings } from '../../../src/config/learning/objective.js';
import { type TokenSequence, trainedLength } from '../../engine/batch.js';
import type { Objective, TokenValues } from '../../engine/objective.js';
import { importanceWeights } from './importance.js';
import { likelihood } from './likelihood.js';
import {
  type PolicyContext,
  type PolicyObjective,
  policyInputs,
  required,
  type Sampled,
  sequenceMean,
  tokenMean,
} from './sampled.js';
import { arithmetic, clippedSurrogate, klToReference, oldLogp, ratioTo, weightedLoss } from './terms.js';

export function grpo(settings: GrpoSettings, context: PolicyContext): PolicyObjective {
  const { kl } = settings;
  const { temperature, reused } = context;
  return {
    objective: grpoGraph(settings, context),
    reading: likelihood(temperature),
    inputs(update, progress) {
      const weights = grpoWeights(update, settings, context);
      const common = policyInputs(update, weights, settings, reused, progress);
      if (kl.coefficient === 0) return common;
      return (example: Sampled) => ({
        ...common(example),
        reference_logp: required(example, 'referenceLogp'),
      });
    },
  };
}

function grpoGraph(settings: GrpoSettings, { temperature, reused }: PolicyContext): Objective {
  return {
    temperature,
    build(tokens) {
      const { number, mul, sub } = arithmetic(tokens);
      const old = oldLogp(tokens, reused);
      const ratio = ratioTo(tokens, old, settings.ratio === 'token' ? 'token' : 'mean');
      const gain = gainOf(tokens, ratio, settings);
      const importance = importanceWeights(tokens, old, settings.importance);
      const corrected = importance === undefined ? gain : mul(gain, importance);
      const { kl } = settings;
      const kept =
        kl.coefficient === 0
          ? corrected
          : sub(corrected, mul(klToReference(tokens, ratio, kl), number(kl.coefficient)));
      const entropy = tokens.entropy();
      return { loss: weightedLoss(tokens, kept, entropy, settings), outputs: { entropy } };
    },
  };
}

function gainOf(tokens: TokenValues, ratio: string, { variant, clip, cap }: GrpoSettings): string {
  const advantages = tokens.input('advantages');
  if (variant !== 'cispo') return clippedSurrogate(tokens, ratio, advantages, clip);
  const { number, mul, min } = arithmetic(tokens);
  return mul(mul(tokens.detached(min(ratio, number(cap))), advantages), tokens.logp);
}

/** Weight of each token of a completion. */
function grpoWeights(
  update: readonly TokenSequence[],
  { variant, localBatch }: Pick<GrpoSettings, 'variant' | 'localBatch'>,
  { maxCompletionTokens }: Pick<PolicyContext, 'maxCompletionTokens'>,
): (example: TokenSequence) => number {
  switch (variant) {
    case 'dapo':
    case 'cispo':
      return tokenMean(update);
    case 'grpo':
      return sequenceMean(update);
    case 'dr_grpo':
      return () => 1 / (update.length * maxCompletionTokens);
    case 'bnpo':
      return localMeans(update, localBatch ?? update.length);
  }
}

/** Mean over the tokens of each local batch, then over the batches. */
function localMeans(update: readonly TokenSequence[], size: number): (example: TokenSequence) => number {
  const batches = Math.ceil(update.length / size);
  const weights = new Map<TokenSequence, number>();
  for (let from = 0; from < update.length; from += size) {
    const batch = update.slice(from, from + size);
    const tokens = batch.reduce((sum, example) => sum + trainedLength(example), 0);
    for (const example of batch) weights.set(example, 1 / (batches * Math.max(1, tokens)));
  }
  return (example) => weights.get(example)!;
}
