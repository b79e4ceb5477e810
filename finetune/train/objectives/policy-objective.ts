import { grpo } from './grpo.js';
import { reinforce } from './reinforce.js';
import type { PolicyContext, PolicyObjective } from './sampled.js';
import type { ObjectiveSettings } from './settings.js';

/** The objective that a config names. */
export function policyObjective(settings: ObjectiveSettings, context: PolicyContext): PolicyObjective {
  switch (settings.kind) {
    case 'grpo':
      return grpo(settings, context);
    case 'reinforce':
      return reinforce(settings, context);
  }
}
