/** Model calls of a run and their usage. */
import type { ScoredChoice } from '../agents/scored.js';
import type { Action } from '../environments/environment.js';
import type { ChatMessage, Completion, FailedCall } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/parse.js';

export interface CallPosition {
  readonly iteration: number;
  readonly candidate: number;
  /** 0 for the first request, then 1, 2, … for corrections. */
  readonly attempt: number;
}

export const callId = ({ iteration, candidate, attempt }: CallPosition): string =>
  `iteration ${iteration}, candidate ${candidate}, attempt ${attempt}`;

/**
 * Purpose of a call: a proposal, a correction of a proposal, a revision by the critic, or feedback. Corrections of
 * a revision or of feedback keep its purpose. Terms used everywhere: a *call* asks a model once; a *proposal* is
 * the first call for one *candidate* with its corrections; an *evaluation* is a policy with the episodes that it
 * played.
 */
export type CallPurpose = 'proposal' | 'correction' | 'critic' | 'feedback';

type Purposeful = Pick<CallPosition, 'attempt'> & { readonly purpose?: CallPurpose | undefined };

/** Runs of earlier versions record the purpose only for the critic and feedback. */
export const purposeOf = ({ attempt, purpose }: Purposeful): CallPurpose =>
  purpose ?? (attempt > 0 ? 'correction' : 'proposal');

export const purposeSql = "coalesce(purpose, CASE WHEN attempt > 0 THEN 'correction' ELSE 'proposal' END)";

/** Purpose of a call, counting corrections as proposals. */
export function stageOf(call: Purposeful): Stage {
  const purpose = purposeOf(call);
  return purpose === 'correction' ? 'proposal' : purpose;
}

export type Stage = Exclude<CallPurpose, 'correction'>;

/** Candidate numbers of the revision and the feedback question; they follow the numbers of the proposals. */
export const numbersAfter = (candidates: number) => ({ critic: candidates, feedback: candidates + 1 });

/** Why a reply was rejected; `ambiguous` occurs only in older runs. */
export type LoggedFailure =
  | ParseFailure
  | { readonly kind: 'ambiguous'; readonly readings: readonly [string, string] };

/** Maps failures of older versions to current ones. */
export const currentFailure = (failure: LoggedFailure): ParseFailure =>
  failure.kind === 'ambiguous' ? { kind: 'missing' } : failure;

/** One model call: a line of `calls.jsonl`. */
export interface CallRecord extends CallPosition {
  readonly messages: readonly ChatMessage[];
  readonly seed: number;
  /** Absent for proposals and corrections in older runs: use `purposeOf`. */
  readonly purpose?: CallPurpose;
  /** With a portfolio: name of the member that was called. */
  readonly member?: string;
  /** With `pipeline`: number of earlier iterations whose results the prompt could not show yet. */
  readonly behind?: number;
  readonly outcome:
    | {
        readonly kind: 'accepted';
        /** Empty for actions in games and for feedback. */
        readonly parameters: ParameterVector;
        /** The return predicted by the reply. */
        readonly predicted?: number;
        /** Set if a proposal too close to an earlier one was moved: its original parameters and distance. */
        readonly moved?: { readonly from: ParameterVector; readonly distance: number };
        /** The source of the proposed program. */
        readonly program?: string;
        readonly action?: Action;
        /** All possible actions with their scores, if the model scored actions. */
        readonly scored?: readonly ScoredChoice[];
      }
    | { readonly kind: 'rejected'; readonly failure: LoggedFailure }
    | FailedCall;
  /** Only on the first call of a request for several completions: their number. Their other calls follow. */
  readonly choices?: number;
  /** Absent if the call failed. */
  readonly completion?: Completion;
  /** In US dollars, or in the currency of `model.price`; absent without a price. */
  readonly cost?: number;
  /** ISO 8601. */
  readonly time: string;
}

/** A finished call whose answer may not have been processed yet. */
export type EndedCall = Omit<CallRecord, 'outcome'> & Partial<Pick<CallRecord, 'outcome'>>;

/** Kinds of the faults in a call: in its failed attempts and in its reply. */
export function faultsOf({ completion, outcome }: EndedCall): readonly string[] {
  const tries = outcome?.kind === 'error' ? outcome.failedTries : completion?.failedTries;
  return [
    ...(tries ?? []),
    ...(outcome?.kind === 'error' ? [outcome.error] : []),
    ...(completion?.faults ?? []),
  ];
}

/** Sums over the calls of a run. */
export interface UsageTotals {
  readonly calls: number;
  /** Calls without a completion. */
  readonly errors: number;
  readonly retries: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly latencyMs: number;
  /** Absent without a price. */
  readonly cost?: number;
  /** Month of the list prices used for the cost, e.g. `2026-09`; absent with `model.price`. */
  readonly listed?: string;
  /** Upper bound on the tokens that the provider did not report; it counts towards limits. */
  readonly unreported?: number;
  /** Number of faults by kind (ModelErrorKind, ReplyFault). */
  readonly faults?: Readonly<Record<string, number>>;
}

type AmountLimit =
  | 'calls'
  | 'tokens'
  | 'promptTokens'
  | 'cachedTokens'
  | 'completionTokens'
  | 'reasoningTokens'
  | 'cost';

/** A key of the `limits` section. */
export type LimitName =
  | AmountLimit
  | 'evaluations'
  | 'rejections'
  | 'minutes'
  | `perCall.${Exclude<AmountLimit, 'calls'> | 'seconds'}`
  | `total.${AmountLimit | 'minutes'}`;

export interface Cap {
  readonly limit: LimitName;
  /** For `perCall` limits, the amount that the largest call used. */
  readonly used: number;
  readonly cap: number;
}

/** The reply to show on a page; undefined for a search over programs, whose replies contain only numbers. */
export const shownReply = ({ completion, messages }: CallRecord, arePrograms: boolean): string | undefined =>
  arePrograms && messages.length === 0 ? undefined : completion?.text;
