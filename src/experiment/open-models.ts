/** Opens the models named in a config: the proposer, the critic and the one that gives feedback. */
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { languageModelOf, type ModelConfig, membersOf, type SingleModelConfig } from '../config/model.js';
import { placedIn } from '../config/model-checks.js';
import { waitOnClock } from '../models/hosted/retry.js';
import { type LanguageModel, type ModelContext, ModelError } from '../models/language-model.js';
import { moduleModel } from '../models/user-model.js';
import type { PolicyConfig } from '../policies/settings.js';
import { loadCriticPrompts, loadFeedbackPrompts } from '../prompting/templates/prompt-set.js';
import { loadHelpers } from '../prompting/templates/rendering.js';
import type { CriticAssembly } from './critic/parts.js';
import type { FeedbackAssembly } from './feedback/assembly.js';
import { adaptingConfig, learningAtHand } from './learning/learner.js';
import { openRecording } from './proposer/cassette.js';
import { createModel, createPortfolio, createProposer } from './proposer/create-model.js';
import { languageModelIn, type Proposer, type SingleProposer } from './proposer/proposer.js';
import { defaultsOf, type RunDefaults } from './proposer/run-defaults.js';

/** The proposer, and the model configs used for counting its calls. */
export interface OpenedModel {
  readonly model: Proposer;
  /** Config used for counting: the run's own model or, in a replay, the one that answered the recorded run. */
  readonly counted: ModelConfig;
  /** The same for the critic and feedback sections. */
  readonly countedBeside: Pick<Config, 'critic' | 'feedback'>;
  readonly defaults: RunDefaults;
}

type PlayedConfig = Config & { readonly policy: PolicyConfig };

/** Loads the critic's prompts, and its model if it has its own. */
export async function openCriticOf(
  config: PlayedConfig,
  env: Readonly<Record<string, string | undefined>>,
  own: LanguageModel | undefined,
): Promise<CriticAssembly | undefined> {
  const { critic, policy, prompts } = config;
  if (critic === undefined) return undefined;
  const { model } = critic;
  const userHelpers = prompts.helpers === undefined ? undefined : await loadHelpers(prompts.helpers);
  const ownPolicy = policy.kind === 'module';
  return {
    prompts: loadCriticPrompts({ set: critic.prompts, ownPolicy, userHelpers }),
    // A recording also answers for the critic.
    model:
      model === undefined || config.model.provider === 'replayed'
        ? undefined
        : (own ??
          (await inMember<SingleProposer>('critic.model', async () =>
            model.provider === 'module'
              ? moduleModel(model)
              : createProposer(withDeadline(model, config), env, waitOnClock),
          ))),
  };
}

/** Loads the vision model's prompts, and the model if it has its own. */
export async function openFeedbackOf(
  config: PlayedConfig,
  env: Readonly<Record<string, string | undefined>>,
  own: LanguageModel | undefined,
): Promise<FeedbackAssembly | undefined> {
  const { feedback, policy, prompts } = config;
  if (feedback === undefined) return undefined;
  const { from, model, prompts: set = 'feedback' } = feedback;
  const userHelpers = prompts.helpers === undefined ? undefined : await loadHelpers(prompts.helpers);
  const ownPolicy = policy.kind === 'module';
  return {
    prompts: from === 'person' ? undefined : loadFeedbackPrompts({ set, ownPolicy, userHelpers }),
    // A recording also answers for the vision model.
    model:
      config.model.provider === 'replayed'
        ? undefined
        : (own ??
          (model &&
            (await inMember('feedback.model', async () =>
              model.provider === 'module'
                ? moduleModel(model)
                : createModel(withDeadline(model, config), env, waitOnClock),
            )))),
  };
}

export async function openModel(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  own: LanguageModel | undefined,
  ask?: AbortSignal,
): Promise<OpenedModel> {
  const recording = config.model.provider === 'replayed' ? openRecording(config.model, config) : undefined;
  const { critic, feedback } = config;
  const countedBeside = recording?.beside ?? { critic, feedback };
  const counted = recording?.model ?? config.model;
  // Only after the model is open: opening it reports problems with its files.
  const opened = async (model: Proposer): Promise<OpenedModel> => {
    const context = () => contextOf(config.model, model, ask !== undefined, ask);
    const defaults = recording?.defaults ?? (await defaultsOf(config, context));
    return { model, counted, countedBeside, defaults };
  };
  const adapting = adaptingConfig(config);
  const adaptable = adapting && (await learningAtHand()).modules(adapting);
  const open = async (model: SingleModelConfig): Promise<SingleProposer> => {
    if (own !== undefined && (model === config.model || languageModelOf(model) !== undefined)) return own;
    if (model.provider === 'module') return moduleModel(model);
    const cassette = recording?.cassette;
    return createProposer(withDeadline(model, config), env, waitOnClock, cassette, adaptable);
  };
  if (config.model.provider === 'portfolio') {
    const proposers: SingleProposer[] = [];
    for (const member of membersOf(config.model)) {
      proposers.push(await inMember(member.field, () => open(member.config)));
    }
    return opened(createPortfolio(config.model, proposers));
  }
  const model = await open(config.model);
  // The members of a recorded portfolio took turns; the recording answers in the name of each.
  if (counted.provider !== 'portfolio') return opened(model);
  const replayed = createPortfolio(
    counted,
    membersOf(counted).map(() => model),
  );
  return opened({ ...replayed, id: model.id });
}

/**
 * The context length of a section's language model. Queries its server unless `ask` is false. If the query
 * fails, returns only what the config states: the first real request will report the error.
 */
export async function contextOf(
  section: ModelConfig,
  model: Proposer | undefined,
  ask: boolean,
  signal?: AbortSignal,
): Promise<ModelContext | undefined> {
  const config = languageModelOf(section);
  const tokens = config?.provider === 'ollama' ? config.contextTokens : undefined;
  const stated = tokens === undefined ? undefined : { tokens };
  if (!ask && (config?.provider === 'ollama' || config?.provider === 'openai')) return stated;
  try {
    return await (model && languageModelIn(model))?.context?.(signal);
  } catch (error) {
    if (error instanceof ModelError) return stated;
    throw error;
  }
}

/** Reports a portfolio member's problems under the field that names the member. */
async function inMember<T>(field: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(error.problems.map((problem) => placedIn(problem, field)));
  }
}

/** Lowers a model's timeout to the limit per call, if that is shorter. */
function withDeadline(model: SingleModelConfig, { limits }: Config): SingleModelConfig {
  const seconds = limits.perCall?.seconds;
  if (seconds === undefined || !('timeoutSeconds' in model)) return model;
  return { ...model, timeoutSeconds: Math.min(model.timeoutSeconds, seconds) };
}
