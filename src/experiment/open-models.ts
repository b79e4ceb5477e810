/** The models that a config names: who proposes, who revises, who looks. */
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { languageModelOf, type ModelConfig, membersOf, type SingleModelConfig } from '../config/model.js';
import { placedIn } from '../config/model-checks.js';
import { waitOnClock } from '../models/hosted/retry.js';
import { type LanguageModel, type ModelContext, ModelError } from '../models/language-model.js';
import { moduleModel } from '../models/user-model.js';
import type { PolicyConfig } from '../policies/settings.js';
import { loadHelpers } from '../prompting/templates/helpers.js';
import { loadCriticPrompts, loadFeedbackPrompts } from '../prompting/templates/prompt-set.js';
import type { CriticAssembly } from './critic/parts.js';
import type { FeedbackAssembly } from './feedback/assembly.js';
import { adaptingConfig, learningAtHand } from './learning/learner.js';
import { openRecording } from './proposer/cassette.js';
import { createModel, createPortfolio, createProposer } from './proposer/create-model.js';
import { languageModelIn, type Proposer, type SingleProposer } from './proposer/proposer.js';
import { defaultsOf, type RunDefaults } from './proposer/run-defaults.js';

/** Who proposes, and whose calls are counted. */
export interface OpenedModel {
  readonly model: Proposer;
  /** Whose calls the ledger counts: the config's, or the one that answered the run that is replayed. */
  readonly counted: ModelConfig;
  /** The sections of who answers beside it: the config's, or those of the run that is replayed; see `counted`. */
  readonly countedBeside: Pick<Config, 'critic' | 'feedback'>;
  readonly defaults: RunDefaults;
}

type PlayedConfig = Config & { readonly policy: PolicyConfig };

/** The prompts of the critic, and its model where that is another than the run's. */
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
    // A recording answers for the critic, too.
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

/** The prompts of a vision model, and the model where that is another than the run's. */
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
    // A recording answers for it, too.
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
  // Once the model is open: what is wrong with its files has been reported then.
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
  // The members of a recorded portfolio had their turns: the recording answers in each one's name.
  if (counted.provider !== 'portfolio') return opened(model);
  const replayed = createPortfolio(
    counted,
    membersOf(counted).map(() => model),
  );
  return opened({ ...replayed, id: model.id });
}

/**
 * What the language model of a section takes: its server is asked, unless `ask` is false. A server that fails will say the
 * same when it is asked for an answer, so then only what the config states is known.
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

/** Reports the problems of a model under the field of the portfolio that names it. */
async function inMember<T>(field: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(error.problems.map((problem) => placedIn(problem, field)));
  }
}

/** The deadline of a call is the lower of its two. */
function withDeadline(model: SingleModelConfig, { limits }: Config): SingleModelConfig {
  const seconds = limits.perCall?.seconds;
  if (seconds === undefined || !('timeoutSeconds' in model)) return model;
  return { ...model, timeoutSeconds: Math.min(model.timeoutSeconds, seconds) };
}
