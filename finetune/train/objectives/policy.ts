import type {
  GrpoSettings,
  ObjectiveSettings,
  ReinforceSettings,
  RlooSettings,
} from '../../../src/config/learning/objective.js';
import { type TokenSequence, trainedLength } from '../../engine/batch.js';
import type { Objective, TokenValues } from '../../engine/objective.js';
import { ppo } from './ppo.js';
import {
  type PolicyContext,
  type PolicyObjective,
  policyInputs,
  required,
  type Sampled,
  sequenceMean,
  tokenMean,
} from './sampled.js';
import {
  arithmetic,
  clippedSurrogate,
  importanceWeights,
  klToReference,
  likelihood,
  oldLogp,
  ratioTo,
  weightedLoss,
} from './terms.js';

export function policyObjective(settings: ObjectiveSettings, context: PolicyContext): PolicyObjective {
  const { objective, reading, inputs } = unconstrained(settings, context);
  const { constrained } = context;
  return { objective: { ...objective, constrained }, reading: { ...reading, constrained }, inputs };
}

function unconstrained(settings: ObjectiveSettings, context: PolicyContext): PolicyObjective {
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

function reinforce(
  settings: ReinforceSettings,
  { temperature }: Pick<PolicyContext, 'temperature'>,
): PolicyObjective {
  const { importance } = settings;
  const objective: Objective = {
    temperature,
    build(tokens) {
      const { mul } = arithmetic(tokens);
      const { logp, input } = tokens;
      const gain = mul(input('advantages'), logp);
      const correction = importanceWeights(tokens, logp, importance);
      const corrected = correction === undefined ? gain : mul(gain, correction);
      const spread = tokens.entropy();
      return { loss: weightedLoss(tokens, corrected, spread, settings), outputs: { entropy: spread } };
    },
  };
  return {
    objective,
    reading: likelihood(temperature),
    inputs: (update, progress) => policyInputs(update, () => 1 / update.length, settings, false, progress),
  };
}

function rloo(settings: RlooSettings, context: PolicyContext): PolicyObjective {
  const { temperature, reused } = context;
  const objective: Objective = {
    temperature,
    build(tokens) {
      const old = oldLogp(tokens, reused);
      const ratio = ratioTo(tokens, old, 'product');
      const gain = clippedSurrogate(tokens, ratio, tokens.input('advantages'), settings.clip);
      const importance = importanceWeights(tokens, old, settings.importance);
      const corrected = importance === undefined ? gain : arithmetic(tokens).mul(gain, importance);
      const entropy = tokens.entropy();
      return { loss: weightedLoss(tokens, corrected, entropy, settings), outputs: { entropy } };
    },
  };
  return {
    objective,
    reading: likelihood(temperature),
    inputs: (update, progress) => policyInputs(update, sequenceMean(update), settings, reused, progress),
  };
}

function grpo(settings: GrpoSettings, context: PolicyContext): PolicyObjective {
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
