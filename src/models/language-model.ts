import type { AnswerGrammar } from './answer-grammar.js';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Tokens of one call. All counts but `unreported` are the provider's; undefined where it reports none. */
export interface Usage {
  readonly promptTokens?: number;
  /** Part of promptTokens that came from the provider's prompt cache. */
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  /** Part of completionTokens spent on hidden reasoning. */
  readonly reasoningTokens?: number;
  /** About so many more, in place of counts that the provider left out or that can't be right: on the high side. */
  readonly unreported?: { readonly promptTokens: number; readonly completionTokens: number };
}

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'other';

/** One token of a completion. */
export interface CompletionToken {
  /** In the model's own vocabulary; hosted providers don't say it. */
  readonly id?: number;
  /** Its part of the text, which may end within a character. */
  readonly bytes: readonly number[];
  /** Natural logarithm of its probability under the model itself: temperature 1, nothing filtered. */
  readonly logProbability: number;
}

export interface Completion {
  /** The answer without hidden reasoning. */
  readonly text: string;
  /** Where `logProbabilities` was asked for and the provider has them; the one that ended the answer included. */
  readonly tokens?: readonly CompletionToken[];
  /** Reasoning that the provider returned apart from the answer. */
  readonly reasoning?: string;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  /** Wall time of the call, retries included, in milliseconds. */
  readonly latencyMs: number;
  /** HTTP tries beyond the first. */
  readonly retries: number;
  /** What went wrong with the tries before, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  /** What is wrong with this reply, although it is one. */
  readonly faults?: readonly ReplyFault[];
  /** Things the user should know of, e.g. that the provider cut the prompt. */
  readonly warnings?: readonly string[];
}

/** How the next token is chosen. Filters apply in Hugging Face's order: penalty, temperature, top-k, top-p, min-p. */
export interface Sampling {
  /** 0: always the likeliest token. */
  readonly temperature: number;
  /** The fewest tokens that hold this share of the probability; 1: all (Holtzman et al. 2020). */
  readonly topP: number;
  /** The k likeliest tokens (and ties with the last of them); 0: all. */
  readonly topK: number;
  /** Tokens at least this fraction as likely as the likeliest; 0: all (Nguyen et al. 2024). */
  readonly minP: number;
  /** Logits of tokens that occurred are divided by it where positive, multiplied where negative; 1: off (Keskar et al. 2019). */
  readonly repetitionPenalty: number;
}

export type SamplingChoice = { readonly [K in keyof Sampling]?: Sampling[K] | undefined };

/** What a call asks for, else the model's own setting. */
export function chosenSampling(own: SamplingChoice, asked: SamplingChoice = {}): SamplingChoice {
  return {
    temperature: asked.temperature ?? own.temperature,
    topP: asked.topP ?? own.topP,
    topK: asked.topK ?? own.topK,
    minP: asked.minP ?? own.minP,
    repetitionPenalty: asked.repetitionPenalty ?? own.repetitionPenalty,
  };
}

export interface GenerateOptions {
  /**
   * One for each completion that is wanted, at least one; non-negative, below 2^31. The same seed asks for the same
   * answer, as far as the provider can.
   */
  readonly seeds: readonly number[];
  /** In place of the model's own settings. */
  readonly sampling?: SamplingChoice;
  /** The longest completion in tokens; beside the model's own limit. */
  readonly maxTokens?: number;
  /** Texts at which a completion ends, without them; in place of the model's own. */
  readonly stop?: readonly string[];
  /** The form of the answer; enforced by models whose setting `format` says so. */
  readonly grammar?: AnswerGrammar;
  /** Whether completions shall have `tokens`. */
  readonly logProbabilities?: boolean;
  /** Names this call within its run; of several completions, that of the first. A recorded run answers by it. */
  readonly callId?: string;
  readonly signal?: AbortSignal;
  /** Asked before a try that failed of `kind` is made again; false ends the call with that failure. */
  readonly mayTryAgain?: (kind: ModelErrorKind) => boolean;
  /** Told of more text of a completion, by its index, where the provider gives it before the end. */
  readonly onText?: (index: number, text: string) => void;
}

/** Of limits that may not be set, the one that counts. */
export function smallest(...limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined);
  return set.length === 0 ? undefined : Math.min(...set);
}

/** How much a model can read and write. */
export interface ModelContext {
  /** Longest prompt and answer together. */
  readonly tokens: number;
  /** Tokens of a prompt, where they can be counted exactly. */
  count?(messages: readonly ChatMessage[]): number;
}

/** A provider of text, hosted or local. It knows messages and answers, and nothing of what they are for. */
export interface LanguageModel {
  /** `provider/name`, e.g. `ollama/qwen3:8b`. */
  readonly id: string;
  /** Whether one call can give several completions, reading their prompt once. Others are asked for one at a time. */
  readonly givesSeveral?: boolean;
  /**
   * One completion a seed, in their order. Of several, a provider may give the first ones only, or none: the others are
   * asked for one at a time. What is known of the whole call only (usage, latency, retries, warnings) stands on the
   * first completion.
   * @throws ModelError when the provider gave none (network, HTTP status, deadline). An empty or odd text is not
   *   an error.
   */
  generate(messages: readonly ChatMessage[], options: GenerateOptions): Promise<readonly Completion[]>;
  /**
   * Gets the model ready before anything is spent on it; says what it runs on. A model that has none is always ready.
   * @throws UserError when it can't be used
   */
  open?(): Promise<string>;
  /**
   * What the model can take, as its provider says without generating anything.
   * @throws ModelError when the provider can't be asked
   */
  context?(): Promise<ModelContext | undefined>;
  /** Frees what the model holds. */
  close?(): Promise<void>;
}

/** Why a try gave no completion. */
export type ModelErrorKind =
  | 'rate-limit'
  | 'server'
  /** No connection. */
  | 'network'
  /** The connection broke before the answer was complete. */
  | 'cut'
  | 'timeout'
  /** A web page in the place of an answer. */
  | 'html'
  /** No JSON, or JSON of another shape. */
  | 'malformed'
  /** A well-formed answer without a completion in it. */
  | 'empty'
  /** The provider refused the prompt for its content. */
  | 'content-filter'
  | 'authentication'
  | 'not-found'
  | 'bad-request'
  | 'not-recorded'
  | 'aborted';

const fatalKinds: ReadonlySet<ModelErrorKind> = new Set([
  'authentication',
  'not-found',
  'bad-request',
  'not-recorded',
]);

/** Whether a call that failed so will fail again. */
export const isFatal = (kind: ModelErrorKind): boolean => fatalKinds.has(kind);

/** What can be wrong with a completion. */
export type ReplyFault =
  /** No text. */
  | 'no-text'
  /** Stopped or emptied by the provider's content filter. */
  | 'content-filter'
  /** One phrase over and over, up to the limit of its length. */
  | 'loop'
  /** Longer than was asked for. */
  | 'overlong'
  /** The server read less than was sent. */
  | 'prompt-cut'
  /** Token counts are missing. */
  | 'usage-missing'
  /** Token counts can't be right. */
  | 'usage-wrong';

/** Kinds of failed tries whose answer may have been generated, and so be paid for, before it was lost. */
const paidKinds: ReadonlySet<ModelErrorKind> = new Set(['cut', 'timeout', 'malformed', 'empty', 'aborted']);

export const mayBePaid = (kind: ModelErrorKind): boolean => paidKinds.has(kind);

/** A call that gave no completion. `fatal` kinds will fail again: the run stops instead of trying on. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly retries: number;
  readonly latencyMs: number;
  /** Of the tries before the last one, in order. */
  readonly failedTries: readonly ModelErrorKind[];

  constructor(
    kind: ModelErrorKind,
    message: string,
    detail: { retries: number; latencyMs: number; failedTries?: readonly ModelErrorKind[] },
  ) {
    super(message);
    this.kind = kind;
    this.retries = detail.retries;
    this.latencyMs = detail.latencyMs;
    this.failedTries = detail.failedTries ?? [];
  }

  /** Whether trying the next iteration is pointless. */
  get fatal(): boolean {
    return isFatal(this.kind);
  }
}
