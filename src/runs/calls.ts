/** The model calls of a run, and what they use. */
import type { ScoredChoice } from '../agents/scored.js';
import type { Action } from '../environments/environment.js';
import type { ChatMessage, Completion, FailedCall } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/parse.js';

/** The place of a model call in a run. */
export interface CallPosition {
  readonly iteration: number;
  readonly candidate: number;
  /** 0 for the first ask, then 1, 2, … for format corrections. */
  readonly attempt: number;
}

/** Names a call within its run. */
export const callId = ({ iteration, candidate, attempt }: CallPosition): string =>
  `iteration ${iteration}, candidate ${candidate}, attempt ${attempt}`;

/**
 * What a call is for: a proposal, a correction of one, a revision by the critic, or feedback. Corrections of the last two
 * have their purpose.
 *
 * What is counted, everywhere: a *call* asks a model once, for any purpose. A *proposal* is what one *candidate* of an
 * iteration came to: its first call and the corrections. An *evaluation* is a policy whose episodes were played: of the
 * warm-up, of an accepted proposal that `screening` did not leave out, or of a revision.
 */
export type CallPurpose = 'proposal' | 'correction' | 'critic' | 'feedback';

type Purposeful = Pick<CallPosition, 'attempt'> & { readonly purpose?: CallPurpose | undefined };

/** Runs of earlier versions tell it of the critic and of feedback only. */
export const purposeOf = ({ attempt, purpose }: Purposeful): CallPurpose =>
  purpose ?? (attempt > 0 ? 'correction' : 'proposal');

/** The same in SQL. */
export const purposeSql = "coalesce(purpose, CASE WHEN attempt > 0 THEN 'correction' ELSE 'proposal' END)";

/** What all calls of one candidate, one revision or one question are for. */
export function stageOf(call: Purposeful): Stage {
  const purpose = purposeOf(call);
  return purpose === 'correction' ? 'proposal' : purpose;
}

export type Stage = Exclude<CallPurpose, 'correction'>;

/**
 * Numbers that tell the revision of an iteration and its question for feedback from the candidates before them. They say
 * nothing else: what a call is for, its purpose says.
 */
export const numbersAfter = (candidates: number) => ({ critic: candidates, feedback: candidates + 1 });

/** Why a reply was rejected, in older runs perhaps because the parser of that time could read it in two ways. */
export type LoggedFailure =
  | ParseFailure
  | { readonly kind: 'ambiguous'; readonly readings: readonly [string, string] };

/** The failure under a kind that the parser still has. */
export const currentFailure = (failure: LoggedFailure): ParseFailure =>
  failure.kind === 'ambiguous' ? { kind: 'missing' } : failure;

/** One model call: a line of `calls.jsonl`. */
export interface CallRecord extends CallPosition {
  readonly messages: readonly ChatMessage[];
  readonly seed: number;
  /** Absent for proposals and corrections in runs of earlier versions: read it with `purposeOf`. */
  readonly purpose?: CallPurpose;
  /** Who answered, where a portfolio is asked. */
  readonly member?: string;
  /** With `pipeline`: iterations before this one of which the prompt could not know yet; absent where there are none. */
  readonly behind?: number;
  readonly outcome:
    | {
        readonly kind: 'accepted';
        /** Empty for a reply that names an action of a game, and for feedback. */
        readonly parameters: ParameterVector;
        /** The return that the reply predicts for them; absent if it predicts none. */
        readonly predicted?: number;
        /** Where they were too close to what was tried: what the reply named, and how far that was. */
        readonly moved?: { readonly from: ParameterVector; readonly distance: number };
        readonly action?: Action;
        /** Where the actions were scored: all of them. */
        readonly scored?: readonly ScoredChoice[];
      }
    | { readonly kind: 'rejected'; readonly failure: LoggedFailure }
    | FailedCall;
  /** Completions that the one request of this call asked for, where they are several: their other calls follow. */
  readonly choices?: number;
  /** Absent when the call gave none. */
  readonly completion?: Completion;
  /** In the currency of `model.price`; absent without one. */
  readonly cost?: number;
  /** ISO 8601. */
  readonly time: string;
}

/** A call that has ended, whether or not it is known yet what its answer means. */
export type EndedCall = Omit<CallRecord, 'outcome'> & Partial<Pick<CallRecord, 'outcome'>>;

/** The faults of all tries of a call, and of its reply. */
export function faultsOf({ completion, outcome }: EndedCall): readonly string[] {
  const tries = outcome?.kind === 'error' ? outcome.failedTries : completion?.failedTries;
  return [
    ...(tries ?? []),
    ...(outcome?.kind === 'error' ? [outcome.error] : []),
    ...(completion?.faults ?? []),
  ];
}

/** The sums over the calls of a run. */
export interface UsageTotals {
  readonly calls: number;
  /** Calls that gave no completion. */
  readonly errors: number;
  readonly retries: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly latencyMs: number;
  /** Absent without `model.price`. */
  readonly cost?: number;
  /**
   * Tokens that limits count beside those: where the provider said nothing, or nothing that can be right, and for tries
   * whose answer was lost. Estimated, on the high side; absent where there are none.
   */
  readonly unreported?: number;
  /** The number of faults of tries and replies by kind (ModelErrorKind, ReplyFault); absent where there are none. */
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

/** A key of the config's section `limits`. */
export type LimitName =
  | AmountLimit
  | 'evaluations'
  | 'rejections'
  | 'minutes'
  | `perCall.${Exclude<AmountLimit, 'calls'> | 'seconds'}`
  | `total.${AmountLimit | 'minutes'}`;

/** The use of one limit. */
export interface Cap {
  readonly limit: LimitName;
  /** For `perCall` limits: by the largest call. */
  readonly used: number;
  readonly cap: number;
}
