import { harmlessLine } from '../base/terminal-text.js';
import { smallest } from '../statistics/descriptive.js';

/** Numbers in plain decimal notation: digits and a point, no exponent, no plus sign. */
export interface NumberKind {
  /** Smallest and largest allowed number, both inclusive. */
  readonly low: number;
  readonly high: number;
  /** Maximum number of digits after the point; 0 for integers. */
  readonly decimals: number;
  /** The allowed numbers, if not the whole range is allowed. */
  readonly choices?: readonly number[];
}

/** The form of an answer: a list of numbers, each after its label, or a JSON object with the same list. */
export interface AnswerGrammar {
  /** Text before each number; from the second on with the separator: `a[0]: `, `, a[1]: `, … */
  readonly labels: readonly string[];
  readonly number: NumberKind;
  /** Text after the last number; if present, the answer is the whole reply, otherwise free text may surround it. */
  readonly closing?: string;
  /** Start of a label: free text before the answer must not open a list with it, text after it must not contain it. */
  readonly mention: string;
  /** Key of the list in a JSON answer. */
  readonly key: string;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Tokens of one call as counted by the provider, apart from `unreported`; undefined if not reported. */
export interface Usage {
  readonly promptTokens?: number;
  /** Part of promptTokens that came from the provider's prompt cache. */
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  /** Hidden reasoning, part of the completion; estimated from the text if the provider doesn't count it separately. */
  readonly reasoningTokens?: number;
  /** High estimates, in place of missing or implausible counts. */
  readonly unreported?: { readonly promptTokens: number; readonly completionTokens: number };
}

/** How the provider was told the format: as an enforced schema or grammar, as any JSON, or only in the prompt. */
export type AnswerFormat = 'json_schema' | 'json_object' | 'constrained' | 'text';

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'other';

/** One token of a completion. */
export interface CompletionToken {
  /** In the model's own vocabulary; absent for hosted providers. */
  readonly id?: number;
  /** Its part of the text in UTF-8, which may end within a character. */
  readonly bytes: readonly number[];
  /** Natural log-probability under the model itself: temperature 1, unfiltered. */
  readonly logProbability: number;
}

/** The tokens of an answer, for training. */
export interface SampledTokens {
  /** Includes the token that ended it. */
  readonly ids: readonly number[];
  /** Natural log-probabilities at the sampling temperature, among the allowed tokens. */
  readonly logp: readonly number[];
  /** Ids that a constraint allowed for each token, null for all; absent if there was no constraint. */
  readonly allowed?: readonly (readonly number[] | null)[];
}

export interface Completion {
  readonly text: string;
  /** Only from models that can adopt another adapter. */
  readonly sampled?: SampledTokens;
  /** If `logProbabilities` was requested and the provider has them; includes the token that ended the answer. */
  readonly tokens?: readonly CompletionToken[];
  /** For texts to score: the log-probability of each token of each text, end token last. `text` is then empty. */
  readonly scores?: readonly (readonly number[])[];
  /** Reasoning that the provider returned separately. */
  readonly reasoning?: string;
  readonly finishReason: FinishReason;
  /** Set if the answer was held to the requested grammar; text around it isn't part of it. */
  readonly constrained?: true;
  /** How the provider was told the format; absent if the config fixes it, or if none was requested. */
  readonly format?: AnswerFormat;
  readonly usage: Usage;
  /** Wall time of the call, retries included, in milliseconds. */
  readonly latencyMs: number;
  /** HTTP tries beyond the first. */
  readonly retries: number;
  /** Kinds of the failed tries, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  /** Faults of a reply that arrived. */
  readonly faults?: readonly ReplyFault[];
  /** Messages for the user, e.g. that the provider cut the prompt. */
  readonly warnings?: readonly string[];
}

/** How the next token is chosen. Filters apply in Hugging Face's order: penalty, temperature, top-k, top-p, min-p. */
export interface Sampling {
  /** 0: always the most likely token. */
  readonly temperature: number;
  /** The smallest set of tokens with this share of the probability; 1: all (Holtzman et al. 2020). */
  readonly topP: number;
  /** The k most likely tokens, including ties with the last; 0: all. */
  readonly topK: number;
  /** Tokens at least this fraction as likely as the most likely; 0: all (Nguyen et al. 2024). */
  readonly minP: number;
  /** Divides positive logits of tokens that occurred, multiplies negative ones; 1: off (Keskar et al. 2019). */
  readonly repetitionPenalty: number;
}

export const samplingKeys = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const;

/** Unfiltered, at temperature 1. */
export const plainSampling: Sampling = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };

export type SamplingChoice = { readonly [K in keyof Sampling]?: Sampling[K] | undefined };

/** The sampling that a call requests, completed by the model's own settings. */
export const chosenSampling = (own: SamplingChoice, asked: SamplingChoice = {}): SamplingChoice =>
  Object.fromEntries(samplingKeys.map((key) => [key, asked[key] ?? own[key]]));

export interface GenerateOptions {
  /** One per completion, at least one; in [0, 2^31). The same seed gives the same answer if reproducible. */
  readonly seeds: readonly number[];
  /** Replaces the model's own settings. */
  readonly sampling?: SamplingChoice;
  /** Maximum completion length in tokens; the model's own limit also applies. */
  readonly maxTokens?: number;
  /** Texts that end a completion and are not part of it; replace the model's own. */
  readonly stop?: readonly string[];
  /** The form of the answer; enforced by models whose `format` says so. */
  readonly grammar?: AnswerGrammar;
  /** The answer must be one of these texts; only for models with `scoresTexts`. */
  readonly choices?: readonly string[];
  /** Texts to score as whole answers instead of generating one; only for models with `scoresTexts`, with one seed. */
  readonly score?: readonly string[];
  /** PNG pictures for the last message; only for models with `seesImages`. */
  readonly images?: readonly Uint8Array[];
  /** Whether to return `tokens`. */
  readonly logProbabilities?: boolean;
  /** Names this call, or the first of its completions, within its run; a recorded run answers by it. */
  readonly callId?: string;
  readonly signal?: AbortSignal;
  /** Called before a retry after a failure of `kind`; false ends the call with that failure. */
  readonly mayTryAgain?: (kind: ModelErrorKind) => boolean | Promise<boolean>;
  /** Whether the caller has already waited for the model's `rate`; otherwise the call waits. */
  readonly hasTurn?: boolean;
  /** Once aborted, no further try waits for its turn: the call ends with the previous failure. */
  readonly finish?: AbortSignal;
  /** Called when a try waits for its turn, with the approximate milliseconds. */
  readonly onWait?: Turn['onWait'];
  /** Called for each failed try. */
  readonly onFault?: ((fault: ModelErrorKind | ReplyFault, reason: string) => void) | undefined;
  /** Receives new text of the completion with this index, if the provider streams. */
  readonly onText?: (index: number, text: string) => void;
}

export function lowestLimit(...limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined);
  return set.length === 0 ? undefined : smallest(set);
}

export interface ModelContext {
  /** Maximum length of prompt and answer together. */
  readonly tokens: number;
  /** Set if the model is known to think unless told not to. */
  readonly thinks?: boolean;
  /** What will keep the model from reading its prompts well, and the remedy. */
  readonly warning?: string;
  /** Tokens of a prompt, if they can be counted exactly. */
  count?(messages: readonly ChatMessage[]): number;
}

/** A request that waits for its turn. */
export interface Turn {
  readonly signal?: AbortSignal | undefined;
  /** Called with the approximate milliseconds, if the wait takes a second or more. */
  readonly onWait?: ((milliseconds: number) => void) | undefined;
}

export interface RequestRate {
  /** Waits until one more request may be sent, which the caller then does at once. @throws the signal's reason */
  turn(turn: Turn): Promise<void>;
  /** Shares the rate with all models of the same server that use the directory, in any process on any machine. */
  share(directory: string): void;
  /** Returns unused grants. */
  close(): void;
}

/** A provider of text, hosted or local. It knows messages and answers, but no task. */
export interface LanguageModel {
  /** `provider/name`, e.g. `ollama/qwen3:8b`. */
  readonly id: string;
  /** Whether one call can give several completions, reading the prompt once. */
  readonly givesSeveral?: boolean;
  /** Absent if requests may be sent at any time. After waiting for a turn, set `hasTurn` in the call. */
  readonly rate?: RequestRate | undefined;
  /** Whether it supports `score` and `choices`: given texts as answers, scored or to choose from. */
  readonly scoresTexts?: boolean;
  /** Whether calls may have `images`; the server's model decides what it makes of them. */
  readonly seesImages?: boolean;
  /**
   * One completion per seed, in order. A provider may return fewer: the caller then requests the rest one at a time.
   * The first completion has usage, latency, retries and warnings of the whole call. An empty or odd text is not an
   * error.
   * @throws ModelError if there was no completion (network, HTTP status, deadline)
   */
  generate(messages: readonly ChatMessage[], options: GenerateOptions): Promise<readonly Completion[]>;
  /** Loads the model before the first call and returns what it runs on. @throws UserError if it can't be used */
  open?(): Promise<string>;
  /** Asks the provider for the model's limits, without generating anything. @throws ModelError if that fails */
  context?(signal?: AbortSignal): Promise<ModelContext | undefined>;
  /** Announces the length of future prompts in tokens, so that a server makes room only once. */
  expect?(promptTokens: number): void;
  /** Uses this adapter from now on, without reloading the model; the directory may hold another adapter each time. */
  adopt?(directory: string): void;
  close?(): Promise<void>;
}

/** Why a try gave no completion. */
export type ModelErrorKind =
  | 'rate-limit'
  /** A rate limit that lasts longer than the config allows to wait. */
  | 'quota'
  | 'server'
  | 'network'
  /** The connection broke before the answer was complete. */
  | 'cut'
  | 'timeout'
  /** A web page instead of an answer. */
  | 'html'
  /** Not JSON, or JSON of another shape. */
  | 'malformed'
  /** A well-formed answer without a completion. */
  | 'empty'
  /** The provider refused the prompt for its content. */
  | 'content-filter'
  /** The prompt exceeds the server's context. */
  | 'too-long'
  | 'authentication'
  | 'not-found'
  | 'bad-request'
  | 'not-recorded'
  | 'aborted';

/** Whether a call that failed with this kind will fail again. */
export const isFatal = (kind: ModelErrorKind): boolean =>
  ['quota', 'authentication', 'not-found', 'bad-request', 'not-recorded'].includes(kind);

/** A fault of a completion. */
export type ReplyFault =
  | 'no-text'
  /** Stopped or emptied by the provider's content filter. */
  | 'content-filter'
  /** One phrase repeated up to the token limit. */
  | 'loop'
  /** Longer than requested. */
  | 'overlong'
  /** The server read less than was sent. */
  | 'prompt-cut'
  /** Token counts are missing. */
  | 'usage-missing'
  /** Token counts are implausible. */
  | 'usage-wrong';

/** Whether a failed try may have generated, and charged for, an answer that was lost. */
export const mayBePaid = (kind: ModelErrorKind): boolean =>
  ['cut', 'timeout', 'malformed', 'aborted'].includes(kind);

/** How a call without a completion is recorded. */
export interface FailedCall {
  readonly kind: 'error';
  readonly error: ModelErrorKind;
  readonly message: string;
  readonly retries: number;
  /** Errors of the tries before the last one, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  readonly latencyMs: number;
}

/** A call without a completion. A `fatal` kind will fail again, so the run stops. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly retries: number;
  readonly latencyMs: number;
  /** Kinds of the tries before the last one, in order. */
  readonly failedTries: readonly ModelErrorKind[];

  constructor(
    kind: ModelErrorKind,
    message: string,
    detail: { retries: number; latencyMs: number; failedTries?: readonly ModelErrorKind[] },
  ) {
    super(harmlessLine(message));
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
