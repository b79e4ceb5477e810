import { safeLine } from '../base/terminal-text.js';
import { smallest } from '../statistics/descriptive.js';

/** Numbers in plain decimal notation, without exponent or plus sign. */
export interface NumberKind {
  /** Smallest and largest allowed number, both inclusive. */
  readonly low: number;
  readonly high: number;
  /** Maximum number of digits after the point; 0 for whole numbers. */
  readonly decimals: number;
  /** The allowed numbers, if only some numbers in the range are allowed. */
  readonly choices?: readonly number[];
}

/** The form of an answer: a list of numbers, each after its label, or a JSON object with the same list. */
export interface AnswerGrammar {
  /** Text before each number. From the second on, it includes the separator: `a[0]: `, `, a[1]: `, … */
  readonly labels: readonly string[];
  readonly number: NumberKind;
  /** Text after the last number. If set, only thinking and white space may precede the answer, and nothing follows. */
  readonly closing?: string;
  /** Lower-case prefix of every spelling of a label. Before the answer, no list follows it; after, it can't occur. */
  readonly mention: string;
  /** Key of the list in a JSON answer. */
  readonly key: string;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Tokens of one call as counted by the provider; missing or unusable counts are undefined. */
export interface Usage {
  readonly promptTokens?: number;
  /** The part of promptTokens that came from the provider's prompt cache. */
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  /** Tokens of reasoning, part of completionTokens; an estimate for Ollama, which doesn't count them separately. */
  readonly reasoningTokens?: number;
  /** High estimates that replace missing or unusable counts; 0 for usable ones. */
  readonly unreported?: { readonly promptTokens: number; readonly completionTokens: number };
}

/** Requested answer format: an enforced schema or grammar, any JSON, or free text with instructions in the prompt. */
export type AnswerFormat = 'json_schema' | 'json_object' | 'constrained' | 'text';

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'other';

export interface Completion {
  readonly text: string;
  /** Reasoning that the provider returned separately from the text. */
  readonly reasoning?: string;
  readonly finishReason: FinishReason;
  /** Set if a local model enforced the requested grammar for the answer (but not for text around it). */
  readonly constrained?: true;
  /** Format requested, or `text` if the server ignored it. Set only with `format: auto`, for calls with a grammar. */
  readonly format?: AnswerFormat;
  readonly usage: Usage;
  /** Wall time of the call in milliseconds, including retries. */
  readonly latencyMs: number;
  /** Number of HTTP attempts after the first. */
  readonly retries: number;
  /** Kinds of the failed attempts. */
  readonly failedTries?: readonly ModelErrorKind[];
  readonly faults?: readonly ReplyFault[];
  /** Messages for the user, e.g. that the provider truncated the prompt. */
  readonly warnings?: readonly string[];
}

/** Sampling settings. Filters apply in Hugging Face's order: penalty, temperature, top-k, top-p, min-p. */
export interface Sampling {
  /** 0: always the most likely token. */
  readonly temperature: number;
  /** Keeps the smallest set of tokens with at least this total probability; 1: all (Holtzman et al. 2020). */
  readonly topP: number;
  /** Keeps the k most likely tokens, and any tied with the last; 0: all. */
  readonly topK: number;
  /** Keeps tokens at least this fraction as likely as the most likely; 0: all (Nguyen et al. 2024). */
  readonly minP: number;
  /** Divides positive logits of tokens that have occurred and multiplies negative ones; 1: off (Keskar et al. 2019). */
  readonly repetitionPenalty: number;
}

const samplingKeys = ['temperature', 'topP', 'topK', 'minP', 'repetitionPenalty'] as const;

/** Temperature 1 without filters. */
export const plainSampling: Sampling = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };

export type SamplingChoice = { readonly [K in keyof Sampling]?: Sampling[K] | undefined };

/** Merges sampling settings: `overrides`, such as a call's, take precedence over `defaults`, such as the model's. */
export const resolveSampling = (defaults: SamplingChoice, overrides: SamplingChoice = {}): SamplingChoice =>
  Object.fromEntries(samplingKeys.map((key) => [key, overrides[key] ?? defaults[key]]));

/** Callbacks for the attempts of a call. */
export interface AttemptHooks {
  /** Called before a retry, except for one that avoids the failure. If it returns false, the failure ends the call. */
  readonly mayTryAgain?: (kind: ModelErrorKind) => boolean;
  /** Called with the milliseconds to wait if a rate limit or Retry-After delays an attempt by a second or more. */
  readonly onWait?: ((milliseconds: number) => void) | undefined;
  /** Called for each failed attempt, unless it was aborted or timed out, or the next request avoids the failure. */
  readonly onFault?: ((fault: ModelErrorKind | ReplyFault, reason: string) => void) | undefined;
}

/** Called before each pass of a local model over a prompt, and after the last one; `read` includes cached tokens. */
export type OnRead = (read: number, total: number) => void;

export interface GenerateOptions {
  /**
   * One seed per completion, at least one; in a run, whole numbers below 2^31. If the provider is deterministic, equal
   * seeds give equal replies.
   */
  readonly seeds: readonly number[];
  /** Overrides the model's sampling settings. */
  readonly sampling?: SamplingChoice;
  /** Maximum length of a completion in tokens; the model's own limit also applies. */
  readonly maxTokens?: number;
  /** The form of the answer. Whether it is enforced depends on the model's `format`. */
  readonly grammar?: AnswerGrammar;
  /** The answer must be one of these texts; only for models with `choosesTexts`. */
  readonly choices?: readonly string[];
  /** Id of this call (or its first completion) within the run; a replay uses it to find the recorded reply. */
  readonly callId?: string;
  readonly signal?: AbortSignal;
  readonly onRead?: OnRead | undefined;
  readonly attempts?: AttemptHooks;
}

export function lowestLimit(...limits: readonly (number | undefined)[]): number | undefined {
  const setLimits = limits.filter((limit) => limit !== undefined);
  return setLimits.length === 0 ? undefined : smallest(setLimits);
}

export interface ModelContext {
  /** Context length in tokens: prompt plus reply. */
  readonly tokens: number;
  /** A problem that keeps the model from reading its prompts properly, with a hint. */
  readonly warning?: string;
  /** Counts the tokens of a prompt; absent if they can't be counted exactly. */
  count?(messages: readonly ChatMessage[]): number;
}

/** The hint for a prompt that doesn't fit into the context. */
export const shortenPromptHint = 'shorten the prompt (memory.tokens; for games: policy.historyTokens)';

/** A model that replies to messages: hosted, local, replayed or written by a user. It doesn't know the task. */
export interface LanguageModel {
  /** `provider/name`, e.g. `ollama/qwen3:8b`, unless a user's model sets another id. */
  readonly id: string;
  /** True if one call can return several completions while reading the prompt only once. */
  readonly givesSeveral?: boolean;
  /** True if calls may have `choices`. */
  readonly choosesTexts?: boolean;
  /**
   * Returns one completion per seed, in order. A provider may return fewer: the caller then requests the others one
   * by one. The first completion contains the usage, latency, retries and warnings of the whole call. Empty or
   * malformed text isn't an error.
   * @throws ModelError if there was no completion (network, HTTP status, deadline); UserError if the model is unusable
   */
  generate(messages: readonly ChatMessage[], options: GenerateOptions): Promise<readonly Completion[]>;
  /** Loads the model before the first call; returns a description of it. @throws UserError or ModelError */
  open?(): Promise<string>;
  /** Returns the model's limits (undefined if unknown) without generating anything. @throws ModelError or UserError */
  context?(signal?: AbortSignal): Promise<ModelContext | undefined>;
  /** Announces the length of future prompts in tokens, so that a server needs to size its context only once. */
  expect?(promptTokens: number): void;
  close?(): Promise<void>;
}

interface ErrorTraits {
  /** A later attempt may succeed. */
  readonly isTemporary?: true;
  /** The calls after this one would fail, too. */
  readonly isFatal?: true;
  /** The attempt may have generated (and charged for) a reply that didn't arrive intact. */
  readonly mayBePaid?: true;
}

/** Reasons why an attempt produced no completion, with their consequences. */
const errorKinds = {
  'rate-limit': { isTemporary: true },
  /** The server asks to wait for longer than the config allows. */
  quota: { isFatal: true },
  server: { isTemporary: true },
  network: { isTemporary: true },
  /** The connection broke before the reply was complete. */
  cut: { isTemporary: true, mayBePaid: true },
  timeout: { mayBePaid: true },
  /** A web page instead of a reply. */
  html: { isTemporary: true },
  /** Not JSON, JSON of the wrong shape, or too large. */
  malformed: { isTemporary: true, mayBePaid: true },
  /** A well-formed response without a completion. */
  empty: { isTemporary: true },
  /** The provider refused the prompt for its content. */
  'content-filter': {},
  /** The prompt doesn't fit into the context. */
  'too-long': {},
  authentication: { isFatal: true },
  'not-found': { isFatal: true },
  'bad-request': { isFatal: true },
  'not-recorded': { isFatal: true },
  aborted: { mayBePaid: true },
} as const satisfies Readonly<Record<string, ErrorTraits>>;

export type ModelErrorKind = keyof typeof errorKinds;

const traits: Readonly<Record<string, ErrorTraits | undefined>> = errorKinds;

export const isTemporary = (kind: ModelErrorKind): boolean => traits[kind]?.isTemporary === true;

export const isFatal = (kind: ModelErrorKind): boolean => traits[kind]?.isFatal === true;

/** True if a failed attempt may have been charged for; false for faults of replies. */
export const mayBePaid = (kind: ModelErrorKind | ReplyFault): boolean => traits[kind]?.mayBePaid === true;

/** A problem with a completion that did arrive. */
export type ReplyFault =
  | 'no-text'
  /** The provider's content filter stopped or emptied the reply. */
  | 'content-filter'
  /** One phrase is repeated until the reply is cut off. */
  | 'loop'
  | 'overlong'
  /** The server read less than was sent. */
  | 'prompt-cut'
  | 'usage-missing'
  | 'usage-wrong';

/** The record of a call that produced no completion. */
export interface FailedCall {
  readonly kind: 'error';
  readonly error: ModelErrorKind;
  readonly message: string;
  readonly retries: number;
  /** Kinds of the failures before the one that ended the call, in order. */
  readonly failedTries?: readonly ModelErrorKind[];
  readonly latencyMs: number;
}

/** A call that produced no completion. If it is `fatal`, the run stops, because the next call would fail, too. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly retries: number;
  readonly latencyMs: number;
  /** Kinds of the failures before the one that ended the call, in order. */
  readonly failedTries: readonly ModelErrorKind[];

  constructor(
    kind: ModelErrorKind,
    message: string,
    detail: { retries: number; latencyMs: number; failedTries?: readonly ModelErrorKind[] },
  ) {
    super(safeLine(message));
    this.kind = kind;
    this.retries = detail.retries;
    this.latencyMs = detail.latencyMs;
    this.failedTries = detail.failedTries ?? [];
  }

  /** True if the next call would fail, too. */
  get fatal(): boolean {
    return isFatal(this.kind);
  }
}
