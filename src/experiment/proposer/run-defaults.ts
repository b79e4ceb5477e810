/** What a new run fills in where its config leaves something open, so that its own config states it. */
import { type Config, limitsSchema } from '../../config/config.js';
import { languageModelOf, type ModelConfig } from '../../config/model.js';
import { withDefaultSampling } from '../../models/local/default-sampling.js';
import { localContext } from '../../models/local/process/local-model.js';
import type { LocalConfig } from '../../models/local/settings.js';
import { historyTokens, memorySchema } from '../../prompting/settings.js';

/** Settings of a new run that its config leaves open: those of the run that it replays, if it replays one. */
export interface RunDefaults {
  readonly limits: Pick<Config['limits'], 'rejections'>;
  readonly memory: Pick<Config['memory'], 'digits' | 'tokens'>;
}

export function defaultsOf({ adapt, model }: Config): RunDefaults {
  const reader = languageModelOf(model);
  const context = reader?.provider === 'local' ? localContext(reader) : undefined;
  return {
    limits: { rejections: adapt === undefined ? 10 : 0 },
    memory: {
      digits: 3,
      tokens: context === undefined ? historyTokens : Math.min(historyTokens, Math.floor(context / 2)),
    },
  };
}

/**
 * The config of a new run with the sampling of its local models filled in.
 * @throws UserError where there is no such model
 */
export function withSampling(config: Config): Config {
  const { critic, model } = config;
  return {
    ...config,
    model:
      model.provider === 'portfolio'
        ? { ...model, members: model.members.map((member) => sampled(member)) }
        : sampled(model),
    ...(critic?.model && { critic: { ...critic, model: sampled(critic.model) } }),
  };
}

/** A member of a portfolio has its weight last. */
function sampled<Model extends ModelConfig & { readonly weight?: number | undefined }>(model: Model): Model {
  if (model.provider !== 'local') return model;
  const { weight, ...own } = model;
  const filled = withDefaultSampling(own as LocalConfig);
  return { ...filled, ...(weight !== undefined && { weight }) } as Model;
}

/** The settings of a config that a new run fills in, in the order of the schema, as a resumed run reads them. */
export const withDefaults = ({ limits, memory }: Config, defaults: RunDefaults) => ({
  limits: limitsSchema.parse({ ...defaults.limits, ...limits }),
  memory: memorySchema.parse({ ...defaults.memory, ...memory }),
});
