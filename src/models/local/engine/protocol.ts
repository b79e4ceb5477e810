/** What the parent and the model's process tell each other. */
import type { Problem } from '../../../errors.js';
import type { AnswerGrammar } from '../../answer-grammar.js';
import type { ChatMessage, SamplingChoice } from '../../language-model.js';
import type { LocalConfig } from '../settings.js';
import type { GeneratedAnswer } from './generation.js';

/** What a process loads. An `adapter` is part of the model: every answer has it. */
export interface LoadSettings
  extends Pick<
    LocalConfig,
    'path' | 'adapter' | 'device' | 'quantization' | 'threads' | 'contextTokens' | 'template'
  > {
  /** Directories of adapters that jobs choose from. */
  readonly adapters?: readonly string[];
}

/** One prompt, one answer a seed. */
export interface GenerateJob {
  /** One of the `adapters` that were loaded; absent, the base answers. */
  readonly adapter?: string;
  readonly messages: readonly ChatMessage[];
  readonly seeds: readonly number[];
  readonly maxTokens: number;
  /** What is absent comes from the model's own recommendation. */
  readonly sampling: SamplingChoice;
  readonly stop: readonly string[];
  readonly logProbabilities: boolean;
  /** The form that is forced upon the answers, if any. */
  readonly grammar?: AnswerGrammar;
}

export interface JobResult {
  readonly answers: readonly GeneratedAnswer[];
  readonly promptTokens: number;
  /** Part of the prompt that had been computed for an earlier call. */
  readonly cachedTokens: number;
  /** Memory of the process after the job, in bytes. */
  readonly residentBytes: number;
}

/** What was loaded, and how. */
export interface LoadReport {
  readonly device: string;
  readonly threads: number;
  readonly contextTokens: number;
}

export type FailureReport =
  | { readonly kind: 'user'; readonly problems: readonly Problem[] }
  | { readonly kind: 'bad-request' | 'server'; readonly message: string }
  | { readonly kind: 'aborted' };

export type ToProcess =
  | { readonly kind: 'load'; readonly settings: LoadSettings }
  | { readonly kind: 'generate'; readonly id: number; readonly job: GenerateJob }
  | { readonly kind: 'abort'; readonly id: number };

export type FromProcess =
  | { readonly kind: 'loaded'; readonly report: LoadReport }
  | { readonly kind: 'load-failed'; readonly failure: FailureReport }
  | { readonly kind: 'text'; readonly id: number; readonly candidate: number; readonly text: string }
  | { readonly kind: 'done'; readonly id: number; readonly result: JobResult }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: FailureReport };
