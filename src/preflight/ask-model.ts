/** What the model itself says before a run. */

import type { CommandContext } from '../base/context.js';
import { languageModelOf, type ModelConfig, type SingleModelConfig } from '../config/model.js';
import type { Assembly } from '../experiment/assemble.js';
import { createModel } from '../experiment/proposer/create-model.js';
import { languageModelIn, type Proposer, type SingleProposer } from '../experiment/proposer/proposer.js';
import { formatDuration } from '../format/numbers.js';
import { type ModelContext, ModelError } from '../models/language-model.js';
import { answerGrammar } from '../prompting/answer/grammar.js';
import { emptyPicture } from '../render/png.js';
import { type Finding, found, warning } from './findings.js';
import { type Contexts, forecastPrompts } from './prompt-forecast.js';

/**
 * What the models of an experiment take.
 * @param ask whether a server may be asked
 */
export async function contextsOf(
  { config, critic, feedback, model }: Pick<Assembly, 'config' | 'critic' | 'feedback' | 'model'>,
  ask: boolean,
  signal?: AbortSignal,
): Promise<Contexts> {
  const own = async (section: ModelConfig | undefined, other: Proposer | undefined) =>
    section && contextOf({ section, model: other }, ask, signal);
  const ofRun = await own(config.model, model);
  return {
    model: ofRun,
    critic: config.critic?.model === undefined ? ofRun : await own(config.critic.model, critic?.model),
    feedback:
      config.feedback?.model === undefined ? ofRun : await own(config.feedback.model, feedback?.model),
  };
}

async function contextOf(
  { model, section }: { readonly section: ModelConfig; readonly model: Proposer | undefined },
  ask: boolean,
  signal?: AbortSignal,
): Promise<ModelContext | undefined> {
  const config = languageModelOf(section);
  const tokens = config?.provider === 'ollama' ? config.contextTokens : undefined;
  const stated = tokens === undefined ? undefined : { tokens };
  if (config?.provider === 'ollama' && !ask) return stated;
  try {
    return await (model && languageModelIn(model))?.context?.(signal);
  } catch (error) {
    // Asking for an answer will say the same.
    if (error instanceof ModelError) return stated;
    throw error;
  }
}

/** Tells a server how long the prompts of a run may become, so that it loads the model once, and asks what that takes. */
export async function makeRoom(assembly: Assembly, signal: AbortSignal | undefined): Promise<void> {
  const model = languageModelIn(assembly.model);
  const others = [assembly.critic?.model, assembly.feedback?.model];
  if ([model, ...others].every((one) => one?.expect === undefined)) return;
  const forecast = forecastPrompts(assembly);
  const bounds = [forecast.critic?.bound, forecast.feedback?.bound];
  for (const [i, other] of others.entries()) other?.expect?.(bounds[i] ?? 0);
  if (model?.expect === undefined) return;
  // What no other model is asked, it is asked itself.
  const own = bounds.filter((_, i) => others[i] === undefined);
  model.expect(longestBound(forecast.longest.bound, ...own));
  await contextOf({ section: assembly.config.model, model }, true, signal);
}

/** A call that only shows whether there is an answer. */
const probe = {
  messages: [
    { role: 'user', content: 'This is a test of the connection. Answer with this line alone:\nparams[0]: 1' },
  ],
  options: {
    seeds: [0],
    grammar: answerGrammar({ count: 1, kind: 'integer', low: 0, high: 9, decimals: 0 }),
  },
} as const;

/** Asks the model of an experiment for one short answer; a control or a module without `generate` is not asked. */
export async function askModel(
  assembly: Assembly,
  env: CommandContext['env'],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { critic, feedback, longest } = forecastPrompts(assembly);
  const of = { config: languageModelOf(assembly.config.model), model: languageModelIn(assembly.model) };
  const own = assembly.config.critic?.model;
  const critics = { config: own && languageModelOf(own), model: assembly.critic?.model };
  const looking = assembly.config.feedback?.model;
  const seers = { config: looking && languageModelOf(looking), model: assembly.feedback?.model };
  const most = longestBound(
    longest.bound,
    own === undefined ? critic?.bound : undefined,
    looking === undefined ? feedback?.bound : undefined,
  );
  const all: readonly Probed[] = [
    { ...of, field: 'model', bound: most, isShown: looking === undefined && feedback !== undefined },
    ...(own === undefined ? [] : [{ ...critics, field: 'critic.model', bound: critic?.bound ?? 0 }]),
    ...(looking === undefined
      ? []
      : [{ ...seers, field: 'feedback.model', bound: feedback?.bound ?? 0, isShown: true }]),
  ];
  const findings: Finding[] = [];
  for (const one of all) findings.push(...(await askOne(one, env, signal)));
  return findings;
}

const longestBound = (...bounds: readonly (number | undefined)[]) =>
  Math.max(...bounds.map((bound) => bound ?? 0));

/** A model that is to be asked, and the section of the config that names it. */
interface Probed {
  readonly config: ReturnType<typeof languageModelOf>;
  readonly model: SingleProposer | undefined;
  readonly field: string;
  /** Of the tokens of its longest prompt. */
  readonly bound: number;
  /** Whether it is asked about a picture: a server refuses that where its model sees none. */
  readonly isShown?: boolean;
}

async function askOne(
  { bound, config, field, isShown = false, model }: Probed,
  env: CommandContext['env'],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (config === undefined || model?.generate === undefined) return [];
  try {
    const asked = 'maxRetries' in config ? createModel(impatient(config), env) : model;
    // The server loads the model as the run will have it.
    asked.expect?.(bound);
    const opened = await asked.open?.();
    const [completion] = await asked.generate(probe.messages, {
      ...probe.options,
      ...(isShown && { images: [emptyPicture()] }),
      signal,
    });
    const { finishReason, latencyMs, text, usage, warnings = [] } = completion!;
    const spent = `${formatDuration(latencyMs)}, ${usage.promptTokens ?? '?'} tokens in, ${usage.completionTokens ?? '?'} out`;
    const name = opened ?? asked.id;
    return [
      text.trim() === ''
        ? warning({
            field,
            message: `${name} gave an empty answer (${finishReason}; ${spent})`,
            remedy: 'raise model.maxTokens: a reasoning model may spend all of it before it answers',
          })
        : found(field, `${name} answers (${spent})`),
      ...warnings.map((message) => warning({ field, message })),
    ];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return [{ level: 'error', field, message: `gave no answer: ${error.message}` }];
  }
}

/** A check tells at once what a run would wait for. */
function impatient(config: SingleModelConfig): SingleModelConfig {
  if (!('maxRetries' in config)) return config;
  return { ...config, maxRetries: 0, timeoutSeconds: Math.min(config.timeoutSeconds, 60) };
}
