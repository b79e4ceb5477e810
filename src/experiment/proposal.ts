/**
 * One prompt, K proposals: render → generate → parse → correct, a bounded number of times. A reply that can't be
 * used is asked again with what was wrong; after the last correction it is rejected, which is data, not an error.
 */
import pLimit from 'p-limit';
import {
  type ChatMessage,
  type Completion,
  type LanguageModel,
  ModelError,
} from '../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { type ParseFailure, parseParameters, type SeenParameters } from '../prompting/answer/format.js';
import { answerGrammar } from '../prompting/answer/grammar.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { type CallRecord, callId, type LimitName } from '../runs/events.js';
import type { Ledger } from './ledger.js';

/** The calls that one candidate took, in order; the last one decides. */
export type Proposal =
  | {
      readonly kind: 'accepted';
      readonly candidate: number;
      readonly parameters: ParameterVector;
      readonly calls: readonly CallRecord[];
    }
  | { readonly kind: 'rejected'; readonly candidate: number; readonly calls: readonly CallRecord[] };

export interface ProposalRequest {
  readonly iteration: number;
  readonly candidates: number;
  readonly corrections: number;
  /** The prompt that all candidates answer. */
  readonly messages: readonly ChatMessage[];
  /** The parameters that a proposal must have. */
  readonly parameters: ParameterSpec;
  readonly seen: (parameters: ParameterVector) => SeenParameters | undefined;
  /** Sampling seed of a call. */
  readonly seed: (candidate: number, attempt: number) => number;
  readonly formatCorrection: (failure: ParseFailure) => string;
  /** A call of an interrupted iteration that was paid for already, if its messages are these. */
  readonly recorded: (
    candidate: number,
    attempt: number,
    messages: readonly ChatMessage[],
  ) => CallRecord | undefined;
  readonly model: LanguageModel;
  readonly concurrency: number;
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Receives every call as soon as its outcome is known. */
  readonly onCall: (call: CallRecord) => void;
}

/** All candidates' proposals; `limit` is set when a cap refused a call, and then some may be missing. */
export interface ProposalGroup {
  readonly proposals: readonly Proposal[];
  readonly limit?: LimitName;
}

interface Pending {
  readonly candidate: number;
  messages: readonly ChatMessage[];
  readonly calls: CallRecord[];
}

/** `choices`: of the first of several that one request asked for. */
type Reply =
  | { readonly kind: 'completion'; readonly completion: Completion; readonly choices?: number }
  | { readonly kind: 'error'; readonly error: ModelError; readonly choices?: number }
  | { readonly kind: 'recorded'; readonly call: CallRecord };

/**
 * Replies of one round arrive concurrently but are judged in candidate order, so that which of two equal proposals
 * counts as the repetition doesn't depend on the network.
 * @throws ModelError of a kind that trying again can't mend, and when aborted.
 */
export async function propose(request: ProposalRequest): Promise<ProposalGroup> {
  const accepted = new Map<string, ParameterVector>();
  const done: Proposal[] = [];
  let pending: Pending[] = Array.from({ length: request.candidates }, (_, candidate) => ({
    candidate,
    messages: request.messages,
    calls: [],
  }));
  for (let attempt = 0; attempt <= request.corrections && pending.length > 0; attempt++) {
    const round = await askRound(request, pending, attempt);
    if (round.kind === 'refused')
      return { proposals: sorted([...done, ...pending.map(reject)]), limit: round.limit };
    let fatal: ModelError | undefined;
    const again: Pending[] = [];
    for (const [i, item] of pending.entries()) {
      const reply = round.replies[i];
      if (reply === undefined) continue;
      const call = judge(request, item, attempt, reply, accepted);
      item.calls.push(call);
      if (reply.kind !== 'recorded') request.onCall(call);
      if (reply.kind === 'error' && isFinal(reply.error)) fatal = reply.error;
      if (call.outcome.kind === 'accepted') {
        const { parameters } = call.outcome;
        accepted.set(vectorKey(parameters), parameters);
        done.push({ kind: 'accepted', candidate: item.candidate, parameters, calls: item.calls });
        continue;
      }
      if (call.outcome.kind === 'rejected') {
        item.messages = [
          ...item.messages,
          // Some servers refuse a message without content.
          { role: 'assistant', content: call.completion?.text.trim() ? call.completion.text : noText },
          { role: 'user', content: request.formatCorrection(call.outcome.failure) },
        ];
      }
      // The same filter would refuse the same prompt again.
      if (call.outcome.kind === 'error' && call.outcome.error === 'content-filter') done.push(reject(item));
      else again.push(item);
    }
    if (fatal !== undefined) throw fatal;
    pending = again;
  }
  return { proposals: sorted([...done, ...pending.map(reject)]) };
}

const noText = '(no text)';

const reject = ({ candidate, calls }: Pending): Proposal => ({ kind: 'rejected', candidate, calls });

const sorted = (proposals: readonly Proposal[]) => proposals.toSorted((a, b) => a.candidate - b.candidate);

type Round =
  /** undefined: not asked, for the group call failed for good. */
  | { readonly kind: 'replies'; readonly replies: readonly (Reply | undefined)[] }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** Asks for every pending candidate that has no recorded reply: in one group call where the model can, else each. */
async function askRound(
  request: ProposalRequest,
  pending: readonly Pending[],
  attempt: number,
): Promise<Round> {
  const replies: (Reply | undefined)[] = pending.map((item) => {
    const call = request.recorded(item.candidate, attempt, item.messages);
    return call && { kind: 'recorded', call };
  });
  const open = pending.flatMap((item, i) => (replies[i] === undefined ? [{ item, i }] : []));
  if (open.length === 0) return { kind: 'replies', replies };
  const reservation = request.ledger.reserve(open.map(({ item }) => item.messages));
  if (reservation.kind === 'refused') return reservation;
  const { maxTokens } = reservation;
  const grammar = answerGrammar(request.parameters);
  const ask = (items: readonly Pending[]) =>
    settle(() =>
      request.model.generate(items[0]!.messages, {
        seeds: items.map(({ candidate }) => request.seed(candidate, attempt)),
        callId: callId({ iteration: request.iteration, candidate: items[0]!.candidate, attempt }),
        grammar,
        signal: request.signal,
        ...(maxTokens !== undefined && { maxTokens }),
        mayTryAgain: (kind) => reservation.tryAgain(kind, items.length),
      }),
    );
  try {
    if (attempt === 0 && open.length > 1 && request.model.givesSeveral) {
      const group = await ask(open.map(({ item }) => item));
      for (const [k, { i }] of open.entries()) replies[i] = replyOf(group, k, open.length);
      if (group.kind === 'error' && isFinal(group.error)) return { kind: 'replies', replies };
    }
    const limit = pLimit(request.concurrency);
    await Promise.all(
      open
        .filter(({ i }) => replies[i] === undefined)
        .map(({ item, i }) =>
          limit(async () => {
            replies[i] = replyOf(await ask([item]), 0, 1);
          }),
        ),
    );
  } finally {
    reservation.release();
  }
  return { kind: 'replies', replies };
}

/** The k-th of several replies to one request; an error is the first one's. */
function replyOf(settled: Settled, k: number, choices: number): Reply | undefined {
  const several = k === 0 && choices > 1 && { choices };
  if (settled.kind === 'error') return k === 0 ? { ...settled, ...several } : undefined;
  const completion = settled.completions[k];
  return completion && { kind: 'completion', completion, ...several };
}

/** Whether asking again is pointless. */
const isFinal = (error: ModelError) => error.fatal || error.kind === 'aborted';

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

function judge(
  request: ProposalRequest,
  item: Pending,
  attempt: number,
  reply: Reply,
  accepted: ReadonlyMap<string, ParameterVector>,
): CallRecord {
  if (reply.kind === 'recorded') return reply.call;
  const base = {
    iteration: request.iteration,
    candidate: item.candidate,
    attempt,
    messages: item.messages,
    seed: request.seed(item.candidate, attempt),
    time: request.now().toISOString(),
    ...(reply.choices !== undefined && { choices: reply.choices }),
  };
  if (reply.kind === 'error') {
    const { kind, message, retries, failedTries, latencyMs } = reply.error;
    const tries = failedTries.length > 0 && { failedTries };
    return { ...base, outcome: { kind: 'error', error: kind, message, retries, ...tries, latencyMs } };
  }
  const { completion } = reply;
  const cost = request.ledger.cost(completion.usage);
  const result = parseParameters(completion.text, request.parameters, {
    seen: (parameters) =>
      accepted.has(vectorKey(parameters)) ? { iteration: request.iteration } : request.seen(parameters),
    finishReason: completion.finishReason,
  });
  return {
    ...base,
    outcome: result.ok
      ? { kind: 'accepted', parameters: result.value }
      : { kind: 'rejected', failure: result.failure },
    completion,
    ...(cost !== undefined && { cost }),
  };
}
