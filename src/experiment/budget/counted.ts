/** What a ledger needs to know about the models of a config. */
import type { Config } from '../../config/config.js';
import { framesOf, visionModelOf } from '../../config/feedback.js';
import { languageModelOf, type ModelConfig, type SingleModelConfig } from '../../config/model.js';
import { imageTokens } from '../../models/reply-faults.js';
import type { CallPurpose } from '../../runs/calls.js';
import type { CountedOptions, ThoughtsApart } from './usage.js';

/** The settings of a model that a ledger needs; for a portfolio, those of its language model. */
export function countedBy(config: ModelConfig) {
  const model = languageModelOf(config);
  return {
    price: model && 'price' in model ? model.price : undefined,
    maxTokens: model && 'maxTokens' in model ? model.maxTokens : undefined,
    usesTokens: model !== undefined,
    thoughtsApart: model === undefined ? ('never' as const) : thoughtsApart(model),
  };
}

/** The same for models that answer other calls than proposals and are counted separately. */
export function countedOthers(
  config: Pick<Config, 'critic' | 'feedback' | 'model'>,
): Partial<Record<CallPurpose, CountedOptions>> {
  const { critic, feedback } = config;
  const vision = visionModelOf(config);
  const tokensBeside = feedback === undefined ? 0 : framesOf(feedback) * imageTokens;
  return {
    ...(critic?.model && { critic: countedBy(critic.model) }),
    ...(feedback?.from === 'person' && {
      feedback: { price: undefined, maxTokens: undefined, usesTokens: false, isTimed: false },
    }),
    ...(vision && { feedback: { ...countedBy(vision), tokensBeside } }),
  };
}

/** Whether Ollama may run its model twice: once for its thoughts, once for an answer in the enforced format. */
function thoughtsApart(model: SingleModelConfig): ThoughtsApart {
  if (model.provider !== 'ollama' || model.format !== 'json' || model.think === false) return 'never';
  return model.think === true ? 'always' : 'unless seen otherwise';
}
