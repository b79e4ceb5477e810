/** Messages between the parent and the model's process. */
import type { Problem } from '../../../base/errors.js';
import type { AnswerGrammar, ChatMessage, SamplingChoice } from '../../language-model.js';
import type { LocalConfig } from '../settings.js';

/** Settings of a process. An `adapter` is part of the model, and applies to every answer that names none. */
export interface LoadSettings
  extends Pick<
    LocalConfig,
    | 'path'
    | 'adapter'
    | 'device'
    | 'quantization'
    | 'threads'
    | 'batch'
    | 'contextTokens'
    | 'template'
    | 'ignoreKeys'
  > {
  /** Directories of adapters that jobs choose from. */
  readonly adapters?: readonly string[];
  /** Modules, by the last parts of their paths, of which another adapter may be adopted; `adapter` is the first one. */
  readonly adaptable?: readonly string[];
}

/** One prompt, one answer a seed. */
export interface GenerateJob {
  /** One of the `adapters` that were loaded; absent, the base answers. */
  readonly adapter?: string;
  readonly messages: readonly ChatMessage[];
  readonly seeds: readonly number[];
  /** Longest answer in tokens. */
  readonly maxTokens: number;
  /** The model's own recommendation completes it. */
  readonly sampling: SamplingChoice;
  /** Texts that end an answer. */
  readonly stop: readonly string[];
  /** Whether the log-probability of each token is wanted. */
  readonly logProbabilities: boolean;
  /** Whether `sampledLogProbabilities` are wanted. */
  readonly sampledLogProbabilities?: boolean;
  /** The form that answers must have, if any. */
  readonly grammar?: AnswerGrammar;
  /** Texts of which the answer is to be one. */
  readonly choices?: readonly string[];
  /** Texts to score in place of answering. */
  readonly score?: readonly string[];
  /** Jobs go on from prompts of jobs with the same name, never of others. */
  readonly conversation?: string;
}

export interface GeneratedAnswer {
  readonly text: string;
  /** Tokens of the answer, the one that ended it included. */
  readonly ids: readonly number[];
  readonly finishReason: 'stop' | 'length';
  /** Natural logarithms, one a token, under the model itself. */
  readonly logProbabilities?: readonly number[];
  /**
   * The same at the temperature of the sampling, among the tokens that a constraint allows, before anything is filtered;
   * where they were asked for.
   */
  readonly sampledLogProbabilities?: readonly number[];
  /** The tokens that each one was chosen from where a constraint left only some; beside `sampledLogProbabilities`. */
  readonly allowed?: readonly (readonly number[] | null)[];
}

export interface Generation {
  readonly answers: readonly GeneratedAnswer[];
  /** The log-probability of each token of each text that was to be scored, that of the end included. */
  readonly scores?: readonly (readonly number[])[];
  readonly promptTokens: number;
  /** Part of the prompt whose keys and values an earlier call computed. */
  readonly cachedTokens: number;
}

export interface JobResult extends Generation {
  /** Memory of the process after the job, in bytes. */
  readonly residentBytes: number;
}

/** Where and how the model was loaded. */
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
  | { readonly kind: 'adopt'; readonly directory: string }
  | { readonly kind: 'abort'; readonly id: number };

export type FromProcess =
  | { readonly kind: 'loaded'; readonly report: LoadReport }
  | { readonly kind: 'load-failed'; readonly failure: FailureReport }
  | { readonly kind: 'text'; readonly id: number; readonly candidate: number; readonly text: string }
  | { readonly kind: 'done'; readonly id: number; readonly result: JobResult }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: FailureReport };
