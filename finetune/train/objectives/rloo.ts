/**
 * REINFORCE leave-one-out (Ahmadian et al. 2024, arXiv 2402.14740) as in TRL 1.13: ratios are per completion,
 * and all completions have equal weight. A KL penalty is part of the rewards, so it doesn't appear here.
 */

import type { RlooSettings } from '../../../src/config/learning/objective.js';
import type { Objective } from '../../engine/objective.js';
import { importanceWeights } from './importance.js';
import { likelihood } from './likelihood.js';
import { type PolicyContext, type PolicyObjective, policyInputs, sequenceMean } from './sampled.js';
import { arithmetic, clippedSurrogate, oldLogp, ratioTo, weightedLoss } from './terms.js';

export function rloo(settings: RlooSettings, context: PolicyContext): PolicyObjective {
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
