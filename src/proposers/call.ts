/** Makes one call to a language model, within the limits; writes it to disk before sending it. */
import {
  type AnswerGrammar,
  type AttemptHooks,
  type ChatMessage,
  type Completion,
  type FailedCall,
  type LanguageModel,
  ModelError,
  type ModelErrorKind,
  mayBePaid,
  type OnRead,
  type SamplingChoice,
} from '../models/language-model.js';
import { type CallRecord, callId, type LimitName, type ShownEvaluations } from '../runs/calls.js';
import { faultTexts } from '../runs/failure-text.js';
import type { SentRequest } from '../runs/writer.js';
import type { Ledger } from './budget.js';

/** The context in which a run makes its calls. */
export interface CallContext {
  readonly ledger: Ledger;
  /** Aborts the calls in flight. */
  readonly signal: AbortSignal;
  /** Once this is aborted, no more requests are sent; calls in flight continue. */
  readonly finish?: AbortSignal | undefined;
  readonly now: () => Date;
  /** Called with the waiting time if a rate limit or Retry-After delays an attempt by a second or more. */
  readonly onWait?: ((milliseconds: number) => void) | undefined;
  /** Called with the progress while a local model reads the prompt. */
  readonly onRead?: OnRead | undefined;
  /** Called for each failed attempt, failed call, and fault in a reply. */
  readonly onFault?: AttemptHooks['onFault'];
  /** Writes a request to disk before it is sent; absent if requests aren't recorded. */
  readonly send?: ((call: CallRecord) => Promise<SentRequest>) | undefined;
}

/** A request for one reply per candidate. */
export interface CallRequest {
  readonly iteration: number;
  readonly attempt: number;
  readonly candidates: readonly { readonly candidate: number; readonly seed: number }[];
  readonly messages: readonly ChatMessage[];
  readonly shown?: ShownEvaluations | undefined;
  readonly purpose: string;
  readonly member?: string | undefined;
  readonly grammar?: AnswerGrammar | undefined;
  readonly sampling?: SamplingChoice | undefined;
  readonly choices?: readonly string[] | undefined;
  /** Number of requests like this one that share the remaining budget. */
  readonly among?: number | undefined;
}

/** Reads a reply and returns its outcome; synchronous, so that no crash can lose a reply that has arrived. */
export type ReplyReader = (completion: Completion, candidate: number) => CallRecord['outcome'];

/** `stopped`: a stop request or a time limit came before the request was sent. */
export type CallResult =
  | { readonly kind: 'ended'; readonly calls: readonly CallRecord[] }
  | { readonly kind: 'limit'; readonly limit: LimitName }
  | { readonly kind: 'stopped' };

export const isStopped = ({ finish, signal }: Pick<CallContext, 'finish' | 'signal'>): boolean =>
  signal.aborted || finish?.aborted === true;

/**
 * Sends a request.
 * @returns one call per reply, in candidate order; later candidates may have none. An error counts as the first
 * candidate's call
 */
export async function callModel(
  model: LanguageModel,
  request: CallRequest,
  caller: CallContext,
  readReply: ReplyReader,
): Promise<CallResult> {
  const { ledger, onFault, onRead, onWait, signal } = caller;
  const { attempt, candidates, choices, grammar, iteration, messages, purpose, sampling } = request;
  if (isStopped(caller)) return { kind: 'stopped' };
  const reservation = ledger.reserve({ messages, choices: candidates.length, among: request.among }, purpose);
  if (typeof reservation === 'string') return { kind: 'limit', limit: reservation };
  const { maxTokens } = reservation;
  const now = () => caller.now().toISOString();
  try {
    const failedTries: ModelErrorKind[] = [];
    const lostRecord = (time: string) =>
      recordOf(request, 0, time, {
        outcome: { ...lostCall, retries: failedTries.length, failedTries: [...failedTries] },
      });
    const startTime = now();
    const sent = await caller.send?.(lostRecord(startTime));
    const calls = await model
      .generate(messages, {
        seeds: candidates.map(({ seed }) => seed),
        callId: callId({ iteration, candidate: candidates[0]!.candidate, attempt }),
        ...(grammar && { grammar }),
        ...(sampling && { sampling }),
        ...(choices && { choices }),
        signal,
        onRead,
        ...(maxTokens !== undefined && { maxTokens }),
        attempts: {
          ...(onWait && { onWait }),
          ...(onFault && { onFault }),
          mayTryAgain(kind) {
            const mayRetry = reservation.mayTryAgain(kind);
            if (mayRetry && mayBePaid(kind)) {
              failedTries.push(kind);
              sent?.retried(lostRecord(startTime));
            }
            return mayRetry;
          },
        },
      })
      .then(
        (completions) =>
          completions.map((completion, k) => {
            const outcome = readReply(completion, candidates[k]!.candidate);
            const cost = ledger.cost(completion.usage, purpose);
            return recordOf(request, k, now(), { outcome, completion, ...(cost !== undefined && { cost }) });
          }),
        (error: unknown) => [recordOf(request, 0, now(), { outcome: failureOf(error) })],
      );
    sent?.answered(calls);
    for (const call of calls) {
      ledger.record(call, maxTokens);
      if (call.outcome.kind === 'error') onFault?.(call.outcome.error, call.outcome.message);
      for (const fault of call.completion?.faults ?? []) onFault?.(fault, faultTexts[fault]);
    }
    return { kind: 'ended', calls };
  } finally {
    reservation.release();
  }
}

const lostCall = {
  kind: 'error',
  error: 'aborted',
  message: 'policyloop ended before the reply arrived',
  latencyMs: 0,
} as const;

function recordOf(
  { attempt, candidates, iteration, member, messages, purpose, shown }: CallRequest,
  k: number,
  time: string,
  rest: Pick<CallRecord, 'outcome' | 'completion' | 'cost'>,
): CallRecord {
  return {
    iteration,
    ...candidates[k]!,
    attempt,
    messages,
    ...(shown && { shown }),
    time,
    purpose,
    ...(member !== undefined && { member }),
    ...(k === 0 && candidates.length > 1 && { choices: candidates.length }),
    ...rest,
  };
}

/** @throws the error if it isn't a ModelError */
function failureOf(error: unknown): FailedCall {
  if (!(error instanceof ModelError)) throw error;
  const { failedTries, kind, latencyMs, message, retries } = error;
  const tries = failedTries.length > 0 && { failedTries };
  return { kind: 'error', error: kind, message, retries, ...tries, latencyMs };
}
