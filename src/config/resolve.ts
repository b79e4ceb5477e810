/**
 * Decides the defaults that depend on other settings, the models, the environment or an earlier run. Defaults that are
 * constants are in the schemas.
 */
import type { EnvironmentSpec } from '../environments/environment.js';
import { withListPrice } from '../models/hosted/prices.js';
import { withLocalDefaults } from '../models/local/default-sampling.js';
import type { LocalConfig } from '../models/local/settings.js';
import { defaultPolicyConfig } from '../policies/families.js';
import type { MemoryConfig } from '../prompting/settings.js';
import type { Config, ConfigWithPolicy } from './config.js';
import { type ModelConfig, mapMembers } from './model.js';
import { withStageModels } from './stages.js';

/** A config with all defaults filled in, frozen. */
export type ResolvedConfig = ConfigWithPolicy & { readonly memory: MemoryConfig };

/** Facts, besides the config, on which defaults depend. */
export interface ResolutionInputs {
  readonly environment: EnvironmentSpec;
  /** Length of the model's context in tokens, if known. */
  readonly contextTokens?: number | undefined;
  /** Config of the run that is replayed. */
  readonly recorded?: Config | undefined;
}

/** @param config with its models resolved. A resolved config is returned with the same settings. */
export const resolveDefaults = (config: Config, facts: ResolutionInputs): ResolvedConfig =>
  freeze({
    ...config,
    policy: config.policy ?? defaultPolicyConfig(facts.environment),
    memory: memoryOf(config, facts),
    // The same program can be written in countless ways.
    repeats: config.policy?.kind === 'program' ? 'behaviour' : (config.repeats ?? 'parameters'),
  });

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(freeze);
  return Object.freeze(value);
}

/** True if the history's default size depends on the model's context; `best` and `recent` are assumed to fit. */
export const dependsOnContext = ({ memory: { best, recent, tokens } }: Config): boolean =>
  best === undefined && recent === undefined && tokens === undefined;

function memoryOf(config: Config, { contextTokens, recorded }: ResolutionInputs): MemoryConfig {
  const { memory, policy } = config;
  const tokens = contextTokens === undefined ? historyTokens : historyBudget(contextTokens);
  const shown = recorded?.memory ?? (dependsOnContext(config) ? shownProgramCounts : {});
  const { rows, trajectories } = memory;
  const selection: Partial<Config['memory']> = policy?.kind === 'program' ? { ...shown, ...memory } : memory;
  // In the order of the schema, so that a resumed run writes the same config.
  return {
    ...pickDefined(selection, ['best', 'recent']),
    tokens: memory.tokens ?? recorded?.memory.tokens ?? tokens,
    trajectories,
    rows,
  };
}

/** Default of `memory.tokens` for an unknown or large context; a context of 32,768 tokens then has room for a reply. */
const historyTokens = 24_000;

/** The default selection of programs in prompts; a program takes about as much room as ten vectors. */
const shownProgramCounts = { best: 4, recent: 2 };

/** The history's share of the context, in tokens; the task, the corrections and the reply need the rest. */
export const historyBudget = (context: number): number => Math.min(historyTokens, Math.floor(context / 2));

/**
 * Fills in the sampling settings and threads of a new run's local models and the list prices of its hosted ones.
 * @throws UserError if the package or a store lacks a local model, or its generation settings can't be read
 */
export function resolveModels(config: Config, env: Readonly<Record<string, string | undefined>>): Config {
  const resolveModel = <Model extends { readonly provider: string }>(model: Model): Model =>
    isLocal(model) ? withLocalDefaults(model) : withListPrice(model, env);
  return { ...withStageModels(config, resolveModel), model: mapMembers(config.model, resolveModel) };
}

/** The config of a resumed run: unset settings keep the values that were filled in when the run began. */
export function withDefaultsOf(oldConfig: Config, newConfig: Config): Config {
  const { memory, model } = newConfig;
  return {
    ...pickDefined(oldConfig, ['policy', 'repeats']),
    ...withStageModels(newConfig, (section, name) => keepFilledIn(oldConfig[name]?.model, section)),
    memory: { ...pickDefined(oldConfig.memory, ['tokens', 'best', 'recent']), ...memory },
    model: mapMembers(model, (section, i) => keepFilledIn(sectionIn(oldConfig.model, i), section)),
  };
}

/** The section of member or leg `i`; without an index, the whole section `model`. */
const sectionIn = (model: ModelConfig, i: number | undefined) => {
  if (i === undefined) return model;
  if (model.provider === 'portfolio') return model.members[i];
  return model.provider === 'relay' ? model.relay[i] : undefined;
};

const localKeys = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty', 'threads'] as const;

/** Adds the settings that policyloop filled in when the run began. */
function keepFilledIn<Model extends { readonly provider: string }>(
  base: { readonly provider: string } | undefined,
  model: Model,
): Model {
  if (base === undefined || base.provider !== model.provider) return model;
  if (isLocal(base) && isLocal(model)) return { ...pickDefined(base, localKeys), ...model };
  return 'price' in base && base.price !== undefined ? { ...model, price: base.price, ...model } : model;
}

/** The part of a section with these keys, without undefined values. */
function pickDefined<Section extends object, Key extends keyof Section>(
  section: Section,
  keys: readonly Key[],
): Partial<Pick<Section, Key>> {
  const entries = keys.flatMap((key) => (section[key] === undefined ? [] : [[key, section[key]]]));
  return Object.fromEntries(entries) as Partial<Pick<Section, Key>>;
}

const isLocal = (model: { readonly provider: string }): model is LocalConfig => model.provider === 'local';
