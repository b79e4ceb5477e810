/** Objectives of reinforcement learning: GRPO and its variants, RLOO, REINFORCE, and PPO (see `ppo.ts`). */

import type { Value } from '../../../src/models/local/graph/graph.js';
import type { TokenSequence } from '../../engine/batch.js';
import type { TokenValues } from '../../engine/objective.js';
import { ppo } from './ppo.js';
import {
  type PolicyContext,
  type PolicyObjective,
  policyInputs,
  type RlExample,
  requireField,
  sequenceMean,
  tokenMean,
} from './sampled.js';
import type {
  CommonSettings,
  GrpoSettings,
  ObjectiveSettings,
  ReinforceSettings,
  RlooSettings,
} from './settings.js';
import {
  arithmetic,
  clippedSurrogate,
  groupSum,
  importanceRatio,
  klToReference,
  likelihood,
  oldLogp,
  policyLoss,
} from './terms.js';

export function policyObjective(settings: ObjectiveSettings, context: PolicyContext): PolicyObjective {
  const { objective, reading, inputs } = objectiveFor(settings, context);
  const { constrained } = context;
  return { objective: { ...objective, constrained }, reading: { ...reading, constrained }, inputs };
}

function objectiveFor(settings: ObjectiveSettings, context: PolicyContext): PolicyObjective {
  switch (settings.kind) {
    case 'grpo':
      return grpo(settings, context);
    case 'rloo':
      return rloo(settings, context);
    case 'ppo':
      return ppo(settings, context);
    case 'reinforce':
      return reinforce(settings, context);
  }
}

/** An objective that maximizes a gain per token, corrected by importance weights. */
function policyGradient(
  settings: CommonSettings,
  { temperature, reused }: PolicyContext,
  loss: (tokens: TokenValues, oldLogps: Value) => ReturnType<typeof policyLoss>,
  weightsOf: (update: readonly RlExample[]) => (example: TokenSequence) => number,
): PolicyObjective {
  return {
    objective: { temperature, build: (tokens) => loss(tokens, oldLogp(tokens, reused)) },
    reading: likelihood(temperature),
    inputs: (update, progress) => policyInputs(update, weightsOf(update), settings, reused, progress),
  };
}

/** Policy gradient (Williams 1992): −(1/N) Σ A·log π over N completions, which π itself must have sampled. */
const reinforce = (settings: ReinforceSettings, context: PolicyContext): PolicyObjective =>
  policyGradient(
    settings,
    { ...context, reused: false },
    (tokens, oldLogps) =>
      policyLoss(tokens, oldLogps, arithmetic(tokens).mul(tokens.input('advantages'), tokens.logp), settings),
    (update) => () => 1 / update.length,
  );

/** RLOO (Ahmadian et al. 2024, arXiv 2402.14740) as in TRL 1.13: ratios per completion, KL in the rewards. */
const rloo = (settings: RlooSettings, context: PolicyContext): PolicyObjective =>
  policyGradient(
    settings,
    context,
    (tokens, oldLogps) => {
      const { sub, exp } = arithmetic(tokens);
      const ratio = exp(groupSum(tokens, tokens.groups('sequences'), sub(tokens.logp, oldLogps)));
      const gain = clippedSurrogate(tokens, ratio, tokens.input('advantages'), settings.clip);
      return policyLoss(tokens, oldLogps, gain, settings);
    },
    sequenceMean,
  );

/**
 * Group-relative policy optimization (DeepSeekMath, arXiv 2402.03300) and its variants as in TRL 1.13: DAPO
 * (2503.14476) and Dr. GRPO (2503.20783), which differ in the weights. Without the entropy bonus, the loss is
 * −Σ weights·(min(ρ·A, clip(ρ)·A)·importance − kl·KL).
 */
function grpo(settings: GrpoSettings, context: PolicyContext): PolicyObjective {
  const { kl } = settings;
  const objective = policyGradient(
    settings,
    context,
    (tokens, oldLogps) => {
      const { number, mul, sub } = arithmetic(tokens);
      const ratio = importanceRatio(tokens, oldLogps);
      const gain = clippedSurrogate(tokens, ratio, tokens.input('advantages'), settings.clip);
      const penalize = (corrected: Value) =>
        kl === 0 ? corrected : sub(corrected, mul(klToReference(tokens, ratio), number(kl)));
      return policyLoss(tokens, oldLogps, gain, settings, penalize);
    },
    (update) => grpoWeights(update, settings, context),
  );
  if (kl === 0) return objective;
  return {
    ...objective,
    inputs(update, progress) {
      const common = objective.inputs(update, progress);
      return (example) => ({ ...common(example), reference_logp: requireField(example, 'referenceLogp') });
    },
  };
}

/** Weight of each token of a completion. */
function grpoWeights(
  update: readonly TokenSequence[],
  { variant }: GrpoSettings,
  { maxCompletionTokens }: PolicyContext,
): (example: TokenSequence) => number {
  switch (variant) {
    case 'dapo':
      return tokenMean(update);
    case 'grpo':
      return sequenceMean(update);
    case 'dr_grpo':
      return () => 1 / (update.length * maxCompletionTokens);
  }
}
