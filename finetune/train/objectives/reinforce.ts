/**
 * Plain policy gradient (Williams 1992): −(1/N) Σ A·log π over the tokens of N completions. The gradient is
 * only valid for the policy that sampled the batch, so each batch is used for one update.
 */

import type { ReinforceSettings } from '../../../src/config/learning/objective.js';
import type { Objective } from '../../engine/objective.js';
import { importanceWeights } from './importance.js';
import { likelihood } from './likelihood.js';
import { type PolicyContext, type PolicyObjective, policyInputs } from './sampled.js';
import { arithmetic, weightedLoss } from './terms.js';

export function reinforce(
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
