/** Fills in the settings that a new run's config leaves open, so that the run's own config states them. */
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import type { ModelContext } from '../models/language-model.js';
import { withDefaultSampling } from '../models/local/default-sampling.js';
import { localContext } from '../models/local/process/local-model.js';
import type { LocalConfig } from '../models/local/settings.js';
import { historyTokens } from '../prompting/settings.js';

/** Defaults for a new run; a replay takes them from the recorded run. */
export interface RunDefaults {
  readonly limits: Pick<Config['limits'], 'rejections'>;
  readonly memory: Pick<Config['memory'], 'digits' | 'tokens'>;
}

/** @param contextOf queries the context length of a model that isn't local */
export async function defaultsOf(
  { adapt, memory, model }: Config,
  contextOf: () => Promise<ModelContext | undefined>,
): Promise<RunDefaults> {
  const reader = languageModelOf(model);
  // A selection by `best` and `recent` is shown in full, so it needs no token limit.
  const isOpen = memory.best === undefined && memory.recent === undefined && memory.tokens === undefined;
  const own = isOpen && reader?.provider === 'local' ? localContext(reader) : undefined;
  const context = own ?? (isOpen ? (await contextOf())?.tokens : undefined);
  return {
    limits: { rejections: adapt === undefined ? 10 : 0 },
    memory: { digits: 3, tokens: context === undefined ? historyTokens : historyWithin(context) },
  };
}

/** The history's share of the context, in tokens; the task, the corrections and the answer need the rest. */
export const historyWithin = (context: number): number => Math.min(historyTokens, Math.floor(context / 2));

/**
 * The config of a new run with its local models' sampling settings filled in.
 * @throws UserError if a model doesn't exist
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

/** The config of a resumed run: settings it leaves open keep the values filled in when the run began. */
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
