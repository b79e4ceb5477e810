/** Estimates what a model's calls use: tokens, and what they cost. */
import type { Config } from '../../config/config.js';
import {
  isByBaseline,
  languageModelOf,
  type ModelConfig,
  type SingleModelConfig,
} from '../../config/model.js';
import { type ChatMessage, type ModelErrorKind, mayBePaid, type Usage } from '../../models/language-model.js';
import { mostTokens } from '../../models/reply-faults.js';
import type { PriceConfig } from '../../models/settings.js';
import { type CallPurpose, type EndedCall, faultsOf } from '../../runs/calls.js';
import { type Amounts, nothing, total } from './limits.js';

/** Whether a separate request generates the thoughts. `unless seen otherwise`: yes, until an answer has none. */
type ThoughtsApart = 'never' | 'unless seen otherwise' | 'always';

export interface CountedOptions {
  readonly price: PriceConfig | undefined;
  /** Longest completion that the model's settings allow, in tokens; undefined if they don't limit it. */
  readonly maxTokens: number | undefined;
  /** False for baselines. */
  readonly usesTokens: boolean;
  readonly thoughtsApart?: ThoughtsApart;
}

/** Longest completion to request, in tokens, if a limit depends on its length but no setting bounds it. */
export const longestUnknown = 8192;
/** Assumed length of the longest completion, in tokens, until a longer one arrives. */
const assumedCompletion = 1024;

export class CountedModel {
  readonly price: PriceConfig | undefined;
  readonly usesTokens: boolean;
  readonly maxTokens: number | undefined;
  #thoughtsApart: ThoughtsApart;
  #longestCompletion = assumedCompletion;
  /** The largest ratio of reported to estimated prompt tokens; at least 1. */
  #promptFactor = 1;

  constructor({ maxTokens, price, thoughtsApart = 'never', usesTokens }: CountedOptions) {
    this.price = price;
    this.usesTokens = usesTokens;
    this.maxTokens = maxTokens;
    this.#thoughtsApart = thoughtsApart;
  }

  /** Length of a completion that a call must have room for, in tokens. */
  get expectedLength(): number {
    return this.maxTokens ?? Math.min(2 * this.#longestCompletion, longestUnknown);
  }

  /** Estimated upper bound on the tokens of a prompt. */
  promptTokens(messages: readonly ChatMessage[]): number {
    return this.usesTokens ? Math.ceil(mostTokens(messages) * this.#promptFactor) : 0;
  }

  /**
   * The most that `calls` calls can use, with completions of `length` tokens, in which it is linear. Thoughts that are
   * generated apart may be as long as the answer, and the second request's prompt contains them.
   */
  worst(promptTokens: number, length: number, calls = 1): Amounts {
    if (!this.usesTokens) return { ...nothing, calls };
    const isTwice = this.#thoughtsApart !== 'never';
    const prompt = calls * (promptTokens + (isTwice ? length : 0));
    const completion = calls * (isTwice ? 2 * length : length);
    // Cached tokens may cost more than uncached ones.
    const cost = Math.max(this.#cost(prompt, 0, completion), this.#cost(prompt, prompt, completion));
    return { ...nothing, calls, tokens: prompt + completion, cost };
  }

  /** The tokens and cost of an answer, estimated if the provider reported none. */
  used({ unreported, ...usage }: Usage): Amounts {
    const prompt = (usage.promptTokens ?? 0) + (unreported?.promptTokens ?? 0);
    const completion = (usage.completionTokens ?? 0) + (unreported?.completionTokens ?? 0);
    const cost = this.#cost(prompt, usage.cachedTokens ?? 0, completion);
    return { ...nothing, calls: 1, tokens: prompt + completion, cost };
  }

  /** Usage of a call that has ended, with a high estimate of its failed attempts that may have been billed. */
  usedBy(call: EndedCall): Amounts {
    const used = this.used(call.completion?.usage ?? {});
    if (!this.usesTokens || isByBaseline(call)) return used;
    const longest = (this.maxTokens ?? 2 * this.#longestCompletion) * (call.choices ?? 1);
    const lost = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    if (lost.length === 0) return used;
    const worst = { ...this.worst(this.promptTokens(call.messages), longest), calls: 0 };
    return total([used, ...lost.map(() => worst)]);
  }

  /** Updates the estimates from a call that has ended. */
  learn(call: EndedCall): void {
    const { completion, messages } = call;
    const { completionTokens = 0, promptTokens } = completion?.usage ?? {};
    if (this.usesTokens && promptTokens !== undefined && completion?.faults?.includes('usage-wrong'))
      this.#promptFactor = Math.max(this.#promptFactor, promptTokens / mostTokens(messages));
    this.#longestCompletion = Math.max(this.#longestCompletion, completionTokens);
    const isPlain = completion !== undefined && completion.reasoning === undefined;
    if (isPlain && !isByBaseline(call) && this.#thoughtsApart === 'unless seen otherwise')
      this.#thoughtsApart = 'never';
  }

  #cost(prompt: number, cached: number, completion: number): number {
    if (this.price === undefined) return 0;
    const { input, cachedInput = input, output } = this.price;
    return ((prompt - cached) * input + cached * cachedInput + completion * output) / 1e6;
  }
}

/** The model settings that a ledger needs. For a portfolio, they describe its language model. */
export function countedBy(config: ModelConfig): CountedOptions {
  const model = languageModelOf(config);
  return {
    price: model && 'price' in model ? model.price : undefined,
    maxTokens: model && 'maxTokens' in model ? model.maxTokens : undefined,
    usesTokens: model !== undefined,
    thoughtsApart: model === undefined ? 'never' : thoughtsApart(model),
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
