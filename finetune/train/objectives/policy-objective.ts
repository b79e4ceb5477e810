import type { ObjectiveSettings } from '../../../src/config/learning/objective.js';
import { grpo } from './grpo.js';
import { ppo } from './ppo.js';
import { reinforce } from './reinforce.js';
import { rloo } from './rloo.js';
import type { PolicyContext, PolicyObjective } from './sampled.js';

/** Creates the configured objective. */
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
