/** Sends the requests of a round. Records paid ones before sending them, and their answers as soon as they arrive. */
import pLimit from 'p-limit';
import {
  type AnswerGrammar,
  type Attempts,
  type ChatMessage,
  type Completion,
  isFatal,
  type LanguageModel,
  ModelError,
  mayBePaid,
  type SamplingChoice,
  type Usage,
} from '../../models/language-model.js';
import {
  type CallPurpose,
  type CallRecord,
  callId,
  type EndedCall,
  type LimitName,
  type Shown,
} from '../../runs/calls.js';
import { faultMeaning } from '../../runs/failure-text.js';
import type { AskedRequest, SentRequest } from '../../runs/underway.js';
import type { Ledger, ReservedRequest } from './ledger.js';

type Lookup<Call> = (
  candidate: number,
  attempt: number,
  messages: readonly ChatMessage[],
) => Call | undefined;

export interface AskingRequest {
  readonly iteration: number;
  readonly grammar?: AnswerGrammar;
  readonly seed: (candidate: number, attempt: number) => number;
  /** Finds a completed call of an interrupted iteration with the same messages. */
  readonly recorded: Lookup<CallRecord>;
  /** Finds an answer that an interrupted iteration received but hadn't interpreted. */
  readonly arrived?: Lookup<EndedCall>;
  readonly model: LanguageModel;
  /** Absent for proposals. */
  readonly purpose?: CallPurpose;
  readonly member?: string | undefined;
  /** True for a baseline in a portfolio or in tuning: its calls use no tokens and cost nothing. */
  readonly isFree?: boolean;
  /** True for a baseline, which reads no prompt. */
  readonly isBaseline?: boolean;
  readonly shown?: Shown | undefined;
  /** See `CallRecord.behind`. */
  readonly behind?: number | undefined;
  readonly concurrency: number;
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
  /** Once this is aborted, no more requests are sent; calls in flight continue. */
  readonly finish?: AbortSignal;
  readonly now: () => Date;
  /** Returns whether the model's server has ever been reached; assumed true if omitted. */
  readonly isReached?: () => boolean;
  /** Called with the approximate waiting time if the rate limit delays a request. */
  readonly onWait?: (milliseconds: number) => void;
  /** Called for each failed attempt, failed call, and fault in an answer. */
  readonly onFault?: Attempts['onFault'];
  readonly ask?: (request: AskedRequest) => Promise<SentRequest>;
}

/** A candidate and the messages of its next call. */
export interface Asked {
  readonly candidate: number;
  readonly messages: readonly ChatMessage[];
  /** Replaces the model's own sampling settings. */
  readonly sampling?: SamplingChoice | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** `recorded`: a call that an earlier process interpreted; `ended`: a call whose answer hasn't been interpreted yet. */
type Reply =
  | { readonly kind: 'recorded'; readonly call: CallRecord }
  | { readonly kind: 'ended'; readonly call: EndedCall };

/** The error of a call, if it makes retrying pointless. */
export function finalError(
  { outcome }: EndedCall,
  { isReached }: Pick<AskingRequest, 'isReached'>,
): ModelError | undefined {
  if (outcome?.kind !== 'error') return undefined;
  const { error, message } = outcome;
  const nobodyThere = error === 'network' && isReached?.() === false;
  return isFatal(error) || error === 'aborted' || nobodyThere
    ? new ModelError(error, message, outcome)
    : undefined;
}

export interface Round {
  /** Undefined for candidates that got no reply. */
  readonly replies: readonly (Reply | undefined)[];
  /** True if a stop request or a time limit prevented or aborted some requests. */
  readonly isCut: boolean;
  readonly limit?: LimitName;
}

/**
 * Sends a request for every pending candidate that has no reply yet. If the model can return several answers,
 * candidates with the same prompt (for a baseline, all) share one request on the first attempt.
 */
export async function askRound(
  request: AskingRequest,
  pending: readonly Asked[],
  attempt: number,
): Promise<Round> {
  const { arrived, concurrency, finish, isBaseline, isFree, ledger, model, purpose, recorded, signal } =
    request;
  const replies = pending.map((item): Reply | undefined => {
    const place = [item.candidate, attempt, item.messages] as const;
    const call = recorded(...place);
    const answer = call ?? arrived?.(...place);
    return answer && (call ? { kind: 'recorded', call } : { kind: 'ended', call: answer });
  });
  const open = () => pending.flatMap((item, i) => (replies[i] === undefined ? [{ item, i }] : []));
  const isStopped = () => signal.aborted || finish?.aborted === true;
  const isCut = () => isStopped() && replies.some((reply) => reply === undefined || isAborted(reply.call));
  /** Sends one request per group. Returns the limit that doesn't allow it, if any. */
  const askFor = async (groups: readonly Group[]): Promise<LimitName | undefined> => {
    const requests = groups.map((group) => ({ prompt: group[0]!.item.messages, answers: group.length }));
    const room = ledger.reserve(requests, isFree, purpose);
    if (room.kind === 'refused') return room.limit;
    const limit = pLimit(concurrency);
    const askOne = async (group: Group, reserved: ReservedRequest) => {
      const items = group.map(({ item }) => item);
      const calls = isStopped() ? [] : await ask(request, items, attempt, room.maxTokens, reserved);
      for (const [k, call] of calls.entries()) {
        ledger.record(call);
        replies[group[k]!.i] = { kind: 'ended', call };
      }
    };
    await Promise.all(
      groups.map((group, k) => {
        const reserved = room.requests[k]!;
        return limit(() => askOne(group, reserved).finally(reserved.release));
      }),
    );
    return undefined;
  };
  const together = () => {
    if (attempt > 0 || !model.givesSeveral) return [];
    return (isBaseline ? [open()] : ofOnePrompt(open())).filter((group) => group.length > 1);
  };
  // Candidates that get no answer from a shared request are requested again, alone.
  const alone = () => open().map((one) => [one]);
  for (const groupsOf of [together, alone]) {
    const groups = groupsOf();
    if (groups.length === 0 || isStopped()) continue;
    const limit = await askFor(groups);
    if (limit !== undefined) return { replies, isCut: false, limit };
    if (replies.some((reply) => reply && finalError(reply.call, request))) break;
  }
  return { replies, isCut: isCut() };
}

/** Candidates that share a request, with their indices. */
type Group = readonly { readonly item: Asked; readonly i: number }[];

function ofOnePrompt(asked: Group): readonly Group[] {
  const groups = new Map<Asked['messages'], Group>();
  for (const one of asked) groups.set(one.item.messages, [...(groups.get(one.item.messages) ?? []), one]);
  return [...groups.values()];
}

const isAborted = ({ outcome }: EndedCall) => outcome?.kind === 'error' && outcome.error === 'aborted';

/**
 * Sends one request for all of the candidates.
 * @returns one call per answer, in candidate order; later candidates may have none. An error counts as the first
 * candidate's call
 */
async function ask(
  request: AskingRequest,
  items: readonly Asked[],
  attempt: number,
  maxTokens: number | undefined,
  reserved: ReservedRequest,
): Promise<readonly EndedCall[]> {
  const { behind, grammar, isFree, iteration, ledger, member, model, now, purpose, signal } = request;
  const { onFault, onWait, shown } = request;
  const { choices, messages, sampling } = items[0]!;
  const candidates = items.map(({ candidate }) => ({ candidate, seed: request.seed(candidate, attempt) }));
  const recordedPurpose = purpose ?? (attempt > 0 ? 'correction' : 'proposal');
  const sent = isFree
    ? undefined
    : await request.ask?.({
        iteration,
        attempt,
        candidates,
        messages,
        purpose: recordedPurpose,
      });
  const settled = await settle(() =>
    model.generate(messages, {
      seeds: candidates.map(({ seed }) => seed),
      callId: callId({ iteration, candidate: candidates[0]!.candidate, attempt }),
      ...(grammar && { grammar }),
      ...(sampling && { sampling }),
      ...(choices && { choices }),
      signal,
      ...(maxTokens !== undefined && { maxTokens }),
      attempts: {
        ...(onWait && { onWait }),
        ...(onFault && { onFault }),
        mayTryAgain(kind) {
          const may = reserved.mayTryAgain(kind);
          if (may && mayBePaid(kind)) sent?.lost(kind);
          return may;
        },
      },
    }),
  );
  const costOf = (usage: Usage) => (isFree ? undefined : ledger.cost(usage, purpose));
  const calls = endedCalls(settled, costOf, (k) => ({
    iteration,
    candidate: candidates[k]!.candidate,
    attempt,
    messages: items[k]!.messages,
    ...(shown && { shown }),
    seed: candidates[k]!.seed,
    time: now().toISOString(),
    purpose: recordedPurpose,
    ...(member !== undefined && { member }),
    ...(behind !== undefined && { behind }),
    ...(k === 0 && items.length > 1 && { choices: items.length }),
  }));
  sent?.answered(calls);
  for (const { completion, outcome } of calls) {
    if (outcome?.kind === 'error') onFault?.(outcome.error, outcome.message);
    for (const fault of completion?.faults ?? []) onFault?.(fault, faultMeaning[fault]);
  }
  return calls;
}

type Settled =
  | { readonly kind: 'completions'; readonly completions: readonly Completion[] }
  | { readonly kind: 'error'; readonly error: ModelError };

async function settle(call: () => Promise<readonly Completion[]>): Promise<Settled> {
  try {
    return { kind: 'completions', completions: await call() };
  } catch (error) {
    if (error instanceof ModelError) return { kind: 'error', error };
    throw error;
  }
}

/** @param base returns the k-th call, without its result */
function endedCalls(
  settled: Settled,
  costOf: (usage: Usage) => number | undefined,
  base: (k: number) => EndedCall,
): readonly EndedCall[] {
  if (settled.kind === 'completions') {
    return settled.completions.map((completion, k) => {
      const cost = costOf(completion.usage);
      return { ...base(k), completion, ...(cost !== undefined && { cost }) };
    });
  }
  const { kind, message, retries, failedTries, latencyMs } = settled.error;
  const tries = failedTries.length > 0 && { failedTries };
  return [{ ...base(0), outcome: { kind: 'error', error: kind, message, retries, ...tries, latencyMs } }];
}
