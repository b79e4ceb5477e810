import type { ParameterSpec, ParameterVector } from '../policies/policy.js';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Tokens of one call. All counts are the provider's; undefined where it reports none. */
export interface Usage {
  readonly promptTokens?: number;
  /** Part of promptTokens that came from the provider's prompt cache. */
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  /** Part of completionTokens spent on hidden reasoning. */
  readonly reasoningTokens?: number;
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
  /** Things the user should know of, e.g. that the provider cut the prompt. */
  readonly warnings?: readonly string[];
}

/** One evaluated candidate, as a control sees it. */
export interface Evaluated {
  readonly parameters: ParameterVector;
  /** Mean return. */
  readonly score: number;
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

export type ModelErrorKind =
  | 'rate-limit'
  | 'server'
  | 'network'
  | 'timeout'
  | 'malformed'
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

/** A call that gave no completion. `fatal` kinds will fail again: the run stops instead of trying on. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly retries: number;
  readonly latencyMs: number;

  constructor(kind: ModelErrorKind, message: string, detail: { retries: number; latencyMs: number }) {
    super(message);
    this.kind = kind;
    this.retries = detail.retries;
    this.latencyMs = detail.latencyMs;
  }

  /** Whether trying the next iteration is pointless. */
  get fatal(): boolean {
    return fatalKinds.has(this.kind);
  }
}
