import type { ParameterSpec } from '../policies/policy.js';
import type { Evaluated } from '../rollout/replay-buffer.js';

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

export interface Completion {
  /** The answer without hidden reasoning. */
  readonly text: string;
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

/**
 * What is asked for, beside the messages. A language model uses it for structured answers; the controls
 * (random, hill-climb, cma-es, …) read nothing else.
 */
export interface Task {
  readonly parameters: ParameterSpec;
  /** Every evaluation that the memory holds, oldest first, whatever the prompt shows of them. Only ever appended to. */
  readonly history: readonly Evaluated[];
  /** How many of `history`, from its start, were there before the first proposal (warm-up, imported). */
  readonly warmup: number;
}

/** Which call of a run this is. */
export interface CallPosition {
  readonly iteration: number;
  readonly candidate: number;
  /** 0 for the first ask, then 1, 2, … for format corrections. */
  readonly attempt: number;
}

export interface GenerateOptions {
  readonly task: Task;
  /** Absent outside of runs; of a group, that of its first candidate. A recorded run answers by it. */
  readonly position?: CallPosition;
  /** Non-negative, below 2^31. The same seed asks for the same answer, as far as the provider can. */
  readonly seed: number;
  readonly signal?: AbortSignal;
  /** The longest completion that a cap has room for, in tokens; beside the model's own limit. */
  readonly maxTokens?: number;
  /** Asked before a try that failed of `kind` is made again; false ends the call with that failure. */
  readonly mayTryAgain?: (kind: ModelErrorKind) => boolean;
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

/** A provider of text: hosted, local, or a control that writes its proposal in the answer format. */
export interface LanguageModel {
  /** `provider/name`, e.g. `ollama/qwen3:8b`. */
  readonly id: string;
  /**
   * One completion.
   * @throws ModelError when the provider gave none (network, HTTP status, deadline). An empty or odd text is not
   *   an error.
   */
  generate(messages: readonly ChatMessage[], options: GenerateOptions): Promise<Completion>;
  /**
   * One completion a seed, of one prompt, where the provider can do that cheaper than in so many calls. May return
   * fewer. Completion i is sampled with seeds[i] where the provider takes one each. What is known of the whole
   * call only (usage, latency, retries, warnings) stands on the first completion; the others have none.
   */
  generateGroup?(
    messages: readonly ChatMessage[],
    options: Omit<GenerateOptions, 'seed'> & { readonly seeds: readonly number[] },
  ): Promise<readonly Completion[]>;
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
    return fatalKinds.has(this.kind);
  }
}
