/** Messages between the parent process and the model's process. */
import type { Problem } from '../../../base/errors.js';
import type { ChatMessage, GenerateOptions, SamplingChoice } from '../../language-model.js';
import type { LocalConfig } from '../settings.js';

const ownKeys = ['path', 'adapter', 'device', 'quantization', 'threads', 'batch', 'contextTokens'] as const;
export const loadKeys = [...ownKeys, 'template', 'ignoreKeys'] as const;

/** Settings with which a process loads its model. */
export type LoadSettings = Pick<LocalConfig, (typeof loadKeys)[number]>;

/** A request for replies to a prompt, one per seed. */
export interface GenerationJob extends Pick<GenerateOptions, 'seeds' | 'grammar' | 'choices'> {
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  /** Absent settings default to the publisher's recommended values, or else to plain sampling. */
  readonly sampling: SamplingChoice;
  readonly sampledLogProbabilities?: boolean;
  /** A job reuses only the cached prompts of its own conversation. */
  readonly conversation?: string;
}

export interface GeneratedReply {
  readonly text: string;
  /** Tokens of the reply, including the end token if there is one. */
  readonly ids: readonly number[];
  readonly finishReason: 'stop' | 'length';
  /** Log-probabilities at the sampling temperature (1 if greedy), among `allowed` ids, before filters; if requested. */
  readonly sampledLogProbabilities?: readonly number[];
  /** For each token, the only ids that a constraint allowed, or null; present with `sampledLogProbabilities`. */
  readonly allowed?: readonly (readonly number[] | null)[];
}

export interface Generation {
  readonly replies: readonly GeneratedReply[];
  readonly promptTokens: number;
  /** Number of prompt tokens whose keys and values were cached by an earlier call. */
  readonly cachedTokens: number;
}

export interface JobResult extends Generation {
  /** Memory used by the process after the job, in bytes. */
  readonly residentBytes: number;
}

export interface LoadReport {
  readonly device: string;
  readonly threads: number;
  readonly contextTokens: number;
}

export type FailureReport =
  | { readonly kind: 'user'; readonly problems: readonly Problem[] }
  | { readonly kind: 'bad-request' | 'too-long' | 'server'; readonly message: string }
  | { readonly kind: 'aborted' };

export type ParentMessage =
  | { readonly kind: 'load'; readonly settings: LoadSettings }
  | { readonly kind: 'generate'; readonly id: number; readonly job: GenerationJob }
  | { readonly kind: 'abort'; readonly id: number };

export type ChildMessage =
  | { readonly kind: 'loaded'; readonly report: LoadReport }
  | { readonly kind: 'load-failed'; readonly failure: FailureReport }
  | { readonly kind: 'read'; readonly id: number; readonly read: number; readonly total: number }
  | { readonly kind: 'done'; readonly id: number; readonly result: JobResult }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: FailureReport };
