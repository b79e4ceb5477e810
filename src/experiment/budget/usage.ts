/** Counts the tokens, cost and failures of model calls. */
import type { Config } from '../../config/config.js';
import {
  isByBaseline,
  languageModelOf,
  type ModelConfig,
  type SingleModelConfig,
} from '../../config/model.js';
import type { ChatMessage, Usage } from '../../models/language-model.js';
import { mostTokens } from '../../models/reply-faults.js';
import type { PriceConfig } from '../../models/settings.js';
import { type CallPurpose, type EndedCall, faultsOf, type UsageTotals } from '../../runs/calls.js';
import type { Amounts } from './limits.js';

export const noUsage: UsageTotals = {
  calls: 0,
  errors: 0,
  retries: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  latencyMs: 0,
};

type Counts = Exclude<keyof UsageTotals, 'cost' | 'faults' | 'listed' | 'unreported'>;
const counts = Object.keys(noUsage) as Counts[];

/** Sums the usage of several calls or runs. */
export function addUsage(totals: readonly UsageTotals[]): UsageTotals {
  const sum: Record<Counts, number> = { ...noUsage };
  let cost: number | undefined;
  let unreported: number | undefined;
  let listed: string | undefined;
  let faults: Record<string, number> | undefined;
  for (const usage of totals) {
    for (const key of counts) sum[key] += usage[key];
    if (usage.cost !== undefined) cost = (cost ?? 0) + usage.cost;
    // Keep the oldest date, because old prices are the least certain.
    if (usage.listed !== undefined && (listed === undefined || usage.listed < listed)) listed = usage.listed;
    if (usage.unreported !== undefined) unreported = (unreported ?? 0) + usage.unreported;
    for (const kind in usage.faults) {
      faults ??= {};
      faults[kind] = (faults[kind] ?? 0) + usage.faults[kind]!;
    }
  }
  return {
    ...sum,
    ...(cost !== undefined && { cost }),
    ...(listed !== undefined && { listed }),
    ...(unreported !== undefined && { unreported }),
    ...(faults !== undefined && { faults }),
  };
}

/**
 * The usage of one call, in the form of a run's totals.
 * @param unreported tokens that count towards limits in addition to those the provider reported
 */
export function usageOfCall(call: EndedCall, unreported: number, hasPrice: boolean): UsageTotals {
  const usage = call.completion?.usage ?? {};
  const took = call.outcome?.kind === 'error' ? call.outcome : call.completion;
  const faults: Record<string, number> = {};
  for (const kind of faultsOf(call)) faults[kind] = (faults[kind] ?? 0) + 1;
  return {
    calls: 1,
    errors: call.outcome?.kind === 'error' ? 1 : 0,
    retries: took?.retries ?? 0,
    promptTokens: usage.promptTokens ?? 0,
    cachedTokens: usage.cachedTokens ?? 0,
    completionTokens: usage.completionTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    latencyMs: took?.latencyMs ?? 0,
    ...(hasPrice && { cost: call.cost ?? 0 }),
    ...(unreported > 0 && { unreported }),
    faults,
  };
}

function costOf(price: PriceConfig | undefined, prompt: number, cached: number, completion: number): number {
  if (price === undefined) return 0;
  const { input, cachedInput = input, output } = price;
  return ((prompt - cached) * input + cached * cachedInput + completion * output) / 1e6;
}

/** The tokens and cost of a call, estimated if the provider reported none. Doesn't count the call itself. */
export function amountsOf({ unreported, ...usage }: Usage, price: PriceConfig | undefined): Amounts {
  const prompt = (usage.promptTokens ?? 0) + (unreported?.promptTokens ?? 0);
  const completion = (usage.completionTokens ?? 0) + (unreported?.completionTokens ?? 0);
  return {
    calls: 0,
    tokens: prompt + completion,
    cost: costOf(price, prompt, usage.cachedTokens ?? 0, completion),
  };
}

/** Prompt and completion tokens that the provider reported. */
export const tokensOf = ({ completionTokens = 0, promptTokens = 0 }: Usage): number =>
  promptTokens + completionTokens;

/**
 * The most that a call of this size can use.
 * @param thoughtsApart if true, the thoughts may be as long as the answer, and a second request's prompt contains them
 */
function worstOf(
  asked: number,
  length: number,
  price: PriceConfig | undefined,
  thoughtsApart = false,
): Amounts {
  const [prompt, completion] = thoughtsApart ? [asked + length, 2 * length] : [asked, length];
  return {
    calls: 1,
    tokens: prompt + completion,
    // Cached tokens may cost more than uncached ones.
    cost: Math.max(costOf(price, prompt, 0, completion), costOf(price, prompt, prompt, completion)),
  };
}

/** Whether a separate request generates the thoughts. `unless seen otherwise`: yes, until an answer has none. */
export type ThoughtsApart = 'never' | 'unless seen otherwise' | 'always';

export interface CountedOptions {
  readonly price: PriceConfig | undefined;
  /** Longest completion that the model's settings allow, in tokens; undefined if they don't limit it. */
  readonly maxTokens: number | undefined;
  /** False for baselines. */
  readonly usesTokens: boolean;
  readonly thoughtsApart?: ThoughtsApart;
}

/** Assumed length of the longest completion, in tokens, until a longer one arrives. */
const assumedCompletion = 1024;

/** Estimates the lengths and the worst-case usage of one model's calls. */
export class CountedModel {
  readonly price: PriceConfig | undefined;
  readonly usesTokens: boolean;
  /** Maximum number of tokens in a completion, or in each part if thoughts are separate; undefined if unlimited. */
  readonly maxTokens: number | undefined;
  #thoughtsApart: ThoughtsApart;
  /** In tokens; at least `assumedCompletion`. */
  longestCompletion = assumedCompletion;
  /** The largest ratio of reported to estimated prompt tokens; at least 1. */
  #promptFactor = 1;

  constructor({ maxTokens, price, thoughtsApart = 'never', usesTokens }: CountedOptions) {
    this.price = price;
    this.usesTokens = usesTokens;
    this.maxTokens = maxTokens;
    this.#thoughtsApart = thoughtsApart;
  }

  readonly worst = (prompt: number, length: number): Amounts =>
    worstOf(prompt, length, this.price, this.#thoughtsApart !== 'never');

  /** Estimated upper bound on the tokens of a prompt. */
  promptTokens(messages: readonly ChatMessage[]): number {
    return this.usesTokens ? Math.ceil(mostTokens(messages) * this.#promptFactor) : 0;
  }

  /** Updates the estimates from a finished call. */
  learn(call: EndedCall): void {
    const { completion, messages } = call;
    const usage = completion?.usage ?? {};
    const isWrong = completion?.faults?.includes('usage-wrong') === true;
    if (this.usesTokens && usage.promptTokens !== undefined && isWrong) {
      this.#promptFactor = Math.max(this.#promptFactor, usage.promptTokens / mostTokens(messages));
    }
    this.longestCompletion = Math.max(this.longestCompletion, usage.completionTokens ?? 0);
    const isPlain = completion !== undefined && completion.reasoning === undefined;
    if (isPlain && !isByBaseline(call) && this.#thoughtsApart === 'unless seen otherwise')
      this.#thoughtsApart = 'never';
  }
}

/** The model settings that a ledger needs. For a portfolio, they describe its language model. */
export function countedBy(config: ModelConfig) {
  const model = languageModelOf(config);
  return {
    price: model && 'price' in model ? model.price : undefined,
    maxTokens: model && 'maxTokens' in model ? model.maxTokens : undefined,
    usesTokens: model !== undefined,
    thoughtsApart: model === undefined ? ('never' as const) : thoughtsApart(model),
  };
}

/** Like `countedBy`, but for models that answer calls other than proposals. */
export function countedOthers({
  critic,
}: Pick<Config, 'critic'>): Partial<Record<CallPurpose, CountedOptions>> {
  return critic?.model ? { critic: countedBy(critic.model) } : {};
}

/** Whether Ollama may run its model twice: once for the thoughts, and once for the answer in the enforced format. */
function thoughtsApart(model: SingleModelConfig): ThoughtsApart {
  if (model.provider !== 'ollama' || model.format !== 'json' || model.think === false) return 'never';
  return model.think === true ? 'always' : 'unless seen otherwise';
}
