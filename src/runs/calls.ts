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
 * Purpose of a call: a proposal, a correction of one, a revision by the critic, or feedback. Corrections of
 * revisions and feedback keep their purpose. Terms used everywhere: a *call* asks a model once; a *proposal*
 * is one *candidate*'s first call with its corrections; an *evaluation* is a policy whose episodes were
 * played.
 */
export type CallPurpose = 'proposal' | 'correction' | 'critic' | 'feedback';

type Purposeful = Pick<CallPosition, 'attempt'> & { readonly purpose?: CallPurpose | undefined };

/** Runs of earlier versions record the purpose only for the critic and feedback. */
export const purposeOf = ({ attempt, purpose }: Purposeful): CallPurpose =>
  purpose ?? (attempt > 0 ? 'correction' : 'proposal');

export const purposeSql = "coalesce(purpose, CASE WHEN attempt > 0 THEN 'correction' ELSE 'proposal' END)";

/** Purpose of all calls of one candidate, revision or question. */
export function stageOf(call: Purposeful): Stage {
  const purpose = purposeOf(call);
  return purpose === 'correction' ? 'proposal' : purpose;
}

export type Stage = Exclude<CallPurpose, 'correction'>;

/** Candidate numbers of the revision and the feedback question, which follow those of the proposals. */
export const numbersAfter = (candidates: number) => ({ critic: candidates, feedback: candidates + 1 });

/** The reason why a reply was rejected; `ambiguous` occurs only in older runs. */
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
  /** Name of the model in a portfolio. */
  readonly member?: string;
  /** With `pipeline`: number of earlier iterations whose results the prompt could not show yet. */
  readonly behind?: number;
  readonly outcome:
    | {
        readonly kind: 'accepted';
        /** Empty for an action in a game and for feedback. */
        readonly parameters: ParameterVector;
        /** The return predicted by the reply. */
        readonly predicted?: number;
        /** Set if the proposal was too close to an earlier one: its original parameters and its distance. */
        readonly moved?: { readonly from: ParameterVector; readonly distance: number };
        /** The source of the proposed program. */
        readonly program?: string;
        readonly action?: Action;
        /** All actions, if they were scored. */
        readonly scored?: readonly ScoredChoice[];
      }
    | { readonly kind: 'rejected'; readonly failure: LoggedFailure }
    | FailedCall;
  /** Number of completions requested together, if several; the calls of the other completions follow this one. */
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

/** Faults of a call: those of its attempts and of its reply. */
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
  /** Month of the list prices behind the cost, e.g. `2026-09`; absent with `model.price`. */
  readonly listed?: string;
  /** Estimated tokens that count towards limits although the provider did not report them (upper bound). */
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

/** What a page shows as the reply: nothing for a search over programs, which answers with numbers. */
export const shownReply = ({ completion, messages }: CallRecord, arePrograms: boolean): string | undefined =>
  arePrograms && messages.length === 0 ? undefined : completion?.text;
