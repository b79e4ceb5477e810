/** Records of model calls, and their usage. */
import type { Action } from '../environments/environment.js';
import type { ChatMessage, Completion, FailedCall } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/failure.js';

export interface CallPosition {
  readonly iteration: number;
  readonly candidate: number;
  /** 0 for the first call, then 1, 2, … for corrections; in a game, the 0-based index of the turn. */
  readonly attempt: number;
}

export const callId = ({ iteration, candidate, attempt }: CallPosition): string =>
  `iteration ${iteration}, candidate ${candidate}, attempt ${attempt}`;

/**
 * In this project, a *call* asks a model once, a *proposal* is the first call for a *candidate* together with its
 * corrections, and an *evaluation* is a policy together with the episodes that it played.
 * @returns `proposal` for a proposal and its corrections, otherwise the stage that called
 */
export const stageOf = ({ purpose }: Pick<CallRecord, 'purpose'>): string =>
  purpose === 'correction' ? 'proposal' : purpose;

/** The evaluations that the prompt of a call showed. */
export interface ShownEvaluations {
  /** Indices of the listed evaluations in the replay buffer, from 0; oldest first. */
  readonly evaluations: readonly number[];
  /** The best score that the prompt contains; absent if there is none. */
  readonly best?: number;
}

/**
 * One call, as recorded in `calls.jsonl`: to a language model, or to a baseline, which reads no prompt and writes no
 * reply; its `messages` are those that a model would have received.
 */
export interface CallRecord extends CallPosition {
  readonly messages: readonly ChatMessage[];
  /** Absent in games, which have no evaluations. */
  readonly shown?: ShownEvaluations;
  readonly seed: number;
  /**
   * `proposal`, `correction` (of a proposal), or the name of a stage. In games, the first turn is recorded as a
   * `proposal`, later ones as `correction`.
   */
  readonly purpose: string;
  /** The portfolio member or relay leg that was called, or the search that tunes a program's constants. */
  readonly member?: string;
  readonly outcome:
    | {
        readonly kind: 'accepted';
        /** Empty for actions in games. */
        readonly parameters: ParameterVector;
        /** The return that the reply predicts. */
        readonly predicted?: number;
        readonly program?: string;
        readonly action?: Action;
      }
    | { readonly kind: 'rejected'; readonly failure: ParseFailure }
    | FailedCall;
  /** Number of completions requested at once, if more than one; recorded only in the first of their calls. */
  readonly choices?: number;
  /** Absent if the call failed, and for baselines. */
  readonly completion?: Completion;
  /** In US dollars, or in the currency of `model.price`; absent if the call failed or has no price. */
  readonly cost?: number;
  /** End of the call, in ISO 8601; for a call that a crash interrupted, the time at which it was sent. */
  readonly time: string;
}

/** The kinds of all faults of a call: in its failed attempts, in the call itself and in its reply. */
export function faultsOf({ completion, outcome }: CallRecord): readonly string[] {
  const replyFaults = completion?.faults ?? [];
  if (outcome.kind === 'error') return [...(outcome.failedTries ?? []), outcome.error, ...replyFaults];
  return [...(completion?.failedTries ?? []), ...replyFaults];
}

/** True if a call was answered, or failed for a reason other than the network; the server was then probably reached. */
export const hasReachedModel = (call: CallRecord): boolean =>
  call.completion !== undefined || faultsOf(call).some((fault) => fault !== 'network');

/** Total usage of several calls. */
export interface UsageTotals {
  readonly calls: number;
  /** Failed calls, which have no completion. */
  readonly errors: number;
  readonly retries: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly latencyMs: number;
  /** Absent without a price. */
  readonly cost?: number;
  /** Month of the oldest list price used for the cost, e.g. `2026-09`; absent if no list price was used. */
  readonly listed?: string;
  /** High estimate of the tokens that the provider didn't report; it counts towards limits. */
  readonly unreported?: number;
  /** Number of faults by kind (ModelErrorKind, ReplyFault). */
  readonly faults?: Readonly<Record<string, number>>;
}

/** A key of a `limits` section. */
export type LimitKey = 'calls' | 'tokens' | 'cost' | 'evaluations' | 'minutes';

/**
 * A limit of the run or, with the prefix, of all runs of its sweep together; `rejections`: the fixed limit
 * `maxRejections`.
 */
export type LimitName = LimitKey | `sweep.limits.${LimitKey}` | 'rejections';

/** Number of rejected replies, including corrections, after which a run without an accepted proposal ends. */
export const maxRejections = 10;

/** The config key of a limit. */
export const limitField = (limit: LimitName): string =>
  limit.startsWith('sweep.') ? limit : `limits.${limit}`;

/** Example: `at limits.calls`. */
export const limitText = (limit: LimitName): string =>
  limit === 'rejections' ? `after ${maxRejections} rejected replies` : `at ${limitField(limit)}`;

export interface LimitUsage {
  readonly limit: LimitName;
  readonly used: number;
  readonly cap: number;
}

/** True if a language model was called, rather than a baseline. */
export const isModelCall = ({ completion, outcome }: CallRecord): boolean =>
  completion !== undefined || outcome.kind === 'error';
