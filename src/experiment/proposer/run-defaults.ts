/** What a new run fills in where its config leaves something open, so that its own config states it. */
import type { Config } from '../../config/config.js';
import { languageModelOf } from '../../config/model.js';
import type { ModelContext } from '../../models/language-model.js';
import { withDefaultSampling } from '../../models/local/default-sampling.js';
import { localContext } from '../../models/local/process/local-model.js';
import type { LocalConfig } from '../../models/local/settings.js';
import { historyTokens } from '../../prompting/settings.js';

/** Settings of a new run that its config leaves open: those of the run that it replays, if it replays one. */
export interface RunDefaults {
  readonly limits: Pick<Config['limits'], 'rejections'>;
  readonly memory: Pick<Config['memory'], 'digits' | 'tokens'>;
}

/** @param contextOf asks a model that is not local what it takes */
export async function defaultsOf(
  { adapt, memory, model }: Config,
  contextOf: () => Promise<ModelContext | undefined>,
): Promise<RunDefaults> {
  const reader = languageModelOf(model);
  // What `best` and `recent` choose is meant to be shown whole.
  const isOpen = memory.best === undefined && memory.recent === undefined && memory.tokens === undefined;
  const own = isOpen && reader?.provider === 'local' ? localContext(reader) : undefined;
  const context = own ?? (isOpen ? (await contextOf())?.tokens : undefined);
  return {
    limits: { rejections: adapt === undefined ? 10 : 0 },
    memory: { digits: 3, tokens: context === undefined ? historyTokens : historyWithin(context) },
  };
}

/** The history's share of a context, in tokens: the task, the corrections and the answer need the rest. */
export const historyWithin = (context: number): number => Math.min(historyTokens, Math.floor(context / 2));

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

/** The config that a run continues with: what it leaves open stays as the run filled it in when it began. */
export function withDefaultsOf(was: Config, wanted: Config): Config {
  const { critic, limits, memory, model } = wanted;
  return {
    ...wanted,
    limits: { ...stated(was.limits, ['rejections']), ...limits },
    memory: { ...stated(was.memory, ['digits', 'tokens']), ...memory },
    model:
      model.provider === 'portfolio' && was.model.provider === 'portfolio'
        ? { ...model, members: membersAs(was.model.members, model.members) }
        : sampledAs(was.model, model),
    ...(critic?.model && { critic: { ...critic, model: sampledAs(was.critic?.model, critic.model) } }),
  };
}

type Members = Extract<Config['model'], { readonly provider: 'portfolio' }>['members'];

const membersAs = (was: Members, wanted: Members): Members =>
  wanted.map((member, i) => sampledAs(was[i], member));

const samplingKeys = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty', 'heatAfterRepeat'] as const;

function sampledAs<Model extends { readonly provider: string }>(
  was: { readonly provider: string } | undefined,
  model: Model,
): Model {
  if (was === undefined || !isLocal(was) || !isLocal(model)) return model;
  return { ...stated(was, samplingKeys), ...model };
}

/** The keys of a section that have a value. */
function stated<Section extends object, Key extends keyof Section>(
  section: Section,
  keys: readonly Key[],
): Partial<Pick<Section, Key>> {
  const own = keys.flatMap((key) => (section[key] === undefined ? [] : [[key, section[key]]]));
  return Object.fromEntries(own) as Partial<Pick<Section, Key>>;
}

function sampled<Model extends { readonly provider: string }>(model: Model): Model {
  return isLocal(model) ? withDefaultSampling(model) : model;
}

const isLocal = (model: { readonly provider: string }): model is LocalConfig => model.provider === 'local';
