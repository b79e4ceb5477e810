import { harmlessLine } from '../base/terminal-text.js';
import { smallest } from '../statistics/descriptive.js';

/** Numbers in plain decimal notation: digits and a point, no exponent, no plus sign. */
export interface NumberKind {
  /** Smallest and largest allowed number, both inclusive. */
  readonly low: number;
  readonly high: number;
  /** Most digits after the point; 0 for integers. */
  readonly decimals: number;
  /** The allowed numbers, where only some of the range are allowed. */
  readonly choices?: readonly number[];
}

/** The form of an answer: a list of numbers, each after its label, or a JSON object with the same list. */
export interface AnswerGrammar {
  /** Text before each number; from the second on with the separator: `a[0]: `, `, a[1]: `, … */
  readonly labels: readonly string[];
  readonly number: NumberKind;
  /** Text after the last number; if present, the answer is the whole reply, otherwise free text may surround it. */
  readonly closing?: string;
  /** Beginning of a label. Free text before the answer must not open a list with it, text after must not contain it. */
  readonly mention: string;
  /** Key of the list where the answer is JSON. */
  readonly key: string;
}

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
  /** Spent on hidden reasoning, as part of the completion; by its share of the text where the provider counts it with the rest. */
  readonly reasoningTokens?: number;
  /** Estimates on the high side, in place of counts that the provider left out or that can't be right. */
  readonly unreported?: { readonly promptTokens: number; readonly completionTokens: number };
}

/**
 * How the provider was told the format: by a schema or grammar that it enforces, as any JSON, or by the prompt alone.
 */
export type AnswerFormat = 'json_schema' | 'json_object' | 'constrained' | 'text';

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'other';

/** One token of a completion. */
export interface CompletionToken {
  /** In the model's own vocabulary; absent for hosted providers. */
  readonly id?: number;
  /** Its part of the text in UTF-8, which may end within a character. */
  readonly bytes: readonly number[];
  /** Natural logarithm of its probability under the model itself: temperature 1, nothing filtered. */
  readonly logProbability: number;
}

/** An answer by its tokens, as a trainer needs it. */
export interface SampledTokens {
  /** The token that ended it included. */
  readonly ids: readonly number[];
  /** Natural logarithms of their probabilities at the temperature of the sampling, among the tokens that were allowed. */
  readonly logp: readonly number[];
  /** Ids that each token was chosen from where a constraint left only some, else null. Absent: all of them, always. */
  readonly allowed?: readonly (readonly number[] | null)[];
}

export interface Completion {
  /** The answer without hidden reasoning. */
  readonly text: string;
  /** Only models that can adopt another adapter give them. */
  readonly sampled?: SampledTokens;
  /** Present where `logProbabilities` was asked for and the provider has them; includes the token that ended the answer. */
  readonly tokens?: readonly CompletionToken[];
  /** For texts to score: the log-probability of each token of each text, end token last. `text` is then empty. */
  readonly scores?: readonly (readonly number[])[];
  /** Reasoning that the provider returned apart from the answer. */
  readonly reasoning?: string;
  readonly finishReason: FinishReason;
  /** Set where the answer was held to the grammar that was asked for: what stands around it is no part of it. */
  readonly constrained?: true;
  /** What the provider did about the form that was asked for; absent where the config fixes it, or none was asked for. */
  readonly format?: AnswerFormat;
  readonly usage: Usage;
  /** Wall time of the call, retries included, in milliseconds. */
  readonly latencyMs: number;
  /** HTTP tries beyond the first. */
  readonly retries: number;
  /** Kinds of the failed tries before, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  /** Faults of a reply that arrived all the same. */
  readonly faults?: readonly ReplyFault[];
  /** Messages for the user, e.g. that the provider cut the prompt. */
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

/** Every token at its own probability. */
export const plainSampling: Sampling = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };

export type SamplingChoice = { readonly [K in keyof Sampling]?: Sampling[K] | undefined };

/** The sampling that a call asks for, completed by the model's own settings. */
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
   * One per completion, at least one; non-negative, below 2^31. The same seed gives the same answer if reproducible.
   */
  readonly seeds: readonly number[];
  /** In place of the model's own settings. */
  readonly sampling?: SamplingChoice;
  /** The longest completion in tokens; the model's own limit holds too. */
  readonly maxTokens?: number;
  /** Texts that end a completion and are not part of it; in place of the model's own. */
  readonly stop?: readonly string[];
  /** The form of the answer; enforced by models whose setting `format` says so. */
  readonly grammar?: AnswerGrammar;
  /** Texts of which the answer is to be one; only for a model with `scoresTexts`. */
  readonly choices?: readonly string[];
  /** Texts to score as whole answers, in place of writing one; only for a model with `scoresTexts`, and with one seed. */
  readonly score?: readonly string[];
  /** PNG pictures that the last message is about; only for a model with `seesImages`. */
  readonly images?: readonly Uint8Array[];
  /** Whether completions shall have `tokens`. */
  readonly logProbabilities?: boolean;
  /** Names this call (with several completions, the first of them) within its run. A recorded run answers by it. */
  readonly callId?: string;
  readonly signal?: AbortSignal;
  /** Asked before a try that failed of `kind` is made again; false ends the call with that failure. */
  readonly mayTryAgain?: (kind: ModelErrorKind) => boolean | Promise<boolean>;
  /** Whether the caller has waited for the model's `rate` before; the call waits else. */
  readonly hasTurn?: boolean;
  /** Once it is aborted, no further try waits for its turn: the call ends with the failure before. */
  readonly finish?: AbortSignal;
  /** Told that a try waits for its turn, for about so many milliseconds. */
  readonly onWait?: Turn['onWait'];
  /** Told of each try that failed, as soon as it has. */
  readonly onFault?: ((fault: ModelErrorKind | ReplyFault, reason: string) => void) | undefined;
  /** Receives more text of the completion with this index, where the provider streams. */
  readonly onText?: (index: number, text: string) => void;
}

/** The lowest of the limits that are set. */
export function lowestLimit(...limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined);
  return set.length === 0 ? undefined : smallest(set);
}

/** How much a model can read and write. */
export interface ModelContext {
  /** Longest prompt and answer together. */
  readonly tokens: number;
  /** Set where the model is known to think unless it is told not to. */
  readonly thinks?: boolean;
  /** What will keep the model from reading its prompts well, and the remedy. */
  readonly warning?: string;
  /** Tokens of a prompt, where they can be counted exactly. */
  count?(messages: readonly ChatMessage[]): number;
}

/** A request that waits for its turn. */
export interface Turn {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Told that it waits, where that takes a second or more: for about so many milliseconds. */
  readonly onWait?: ((milliseconds: number) => void) | undefined;
}

/** How often requests may be sent. */
export interface RequestRate {
  /** Waits until one more request may be sent, which the caller then does at once. @throws the signal's reason */
  turn(turn: Turn): Promise<void>;
  /** Keeps the rate together with all models of the same server that share the directory, of whichever process or machine. */
  share(directory: string): void;
  /** Leaves to others what was granted for later. */
  close(): void;
}

/** A provider of text, hosted or local. It knows messages and answers, but no task. */
export interface LanguageModel {
  /** `provider/name`, e.g. `ollama/qwen3:8b`. */
  readonly id: string;
  /** Whether one call can give several completions, reading their prompt once. Others are asked for one at a time. */
  readonly givesSeveral?: boolean;
  /** Absent where requests may be sent at any time. Whoever takes a turn tells the next call so: `hasTurn`. */
  readonly rate?: RequestRate | undefined;
  /** Whether it can tell how likely given texts are as answers, or answer with one of them: `score` and `choices` of the options. */
  readonly scoresTexts?: boolean;
  /** Whether calls may have `images`. What a server makes of them depends on the model that it serves. */
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
  /** Learns how long prompts will become, in tokens: a server then makes room once and needn't load the model anew. */
  expect?(promptTokens: number): void;
  /** Uses this adapter from now on, without reloading the model; the directory may hold another adapter each time. */
  adopt?(directory: string): void;
  /** Frees the model's resources. */
  close?(): Promise<void>;
}

/** Why a try gave no completion. */
export type ModelErrorKind =
  | 'rate-limit'
  /** A rate limit that lasts longer than the config waits. */
  | 'quota'
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
  /** The server refused a prompt that its context can't hold. */
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

/** Whether the answer of a failed try may have been generated, and so be paid for, before it was lost. */
export const mayBePaid = (kind: ModelErrorKind): boolean =>
  ['cut', 'timeout', 'malformed', 'aborted'].includes(kind);

/** How a call that gave no completion is recorded. */
export interface FailedCall {
  readonly kind: 'error';
  readonly error: ModelErrorKind;
  readonly message: string;
  readonly retries: number;
  /** The errors of the tries before the last one, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  readonly latencyMs: number;
}

/** A call that gave no completion. A `fatal` kind will fail again, so the run stops. */
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
