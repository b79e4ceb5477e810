/** A language model as a proposer: asks for each candidate until the reply is usable, and corrects unusable ones. */
import pLimit from 'p-limit';
import {
  type ChatMessage,
  type Completion,
  isFatal,
  type LanguageModel,
  ModelError,
  type SamplingChoice,
} from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import { type CallRecord, hasReachedModel, type LimitName } from '../runs/calls.js';
import { type CallRequest, callModel } from './call.js';
import { earlierUseFinder, type ProposalRequest, type Proposals, type Proposer } from './proposer.js';

export const languageModelProposer = (model: LanguageModel): Proposer => ({
  id: model.id,
  model,
  propose: (request) => askForAll(model, request),
});

/** A candidate's conversation so far. */
interface Conversation {
  readonly candidate: number;
  readonly calls: CallRecord[];
  attempt: number;
  messages: readonly ChatMessage[];
  sampling: SamplingChoice | undefined;
  parameters: ParameterVector | undefined;
}

interface AskingState {
  readonly model: LanguageModel;
  readonly request: ProposalRequest;
  /** Replies to a request for several candidates, until they are judged. */
  readonly unjudgedCalls: Map<number, CallRecord>;
  readonly loggedCalls: Set<CallRecord>;
  /** Number of new replies that were rejected. */
  rejected: number;
  isAnyAccepted: boolean;
  /** True once the model's server was reached. */
  isReached: boolean;
  /** The reason why no more requests are sent. */
  stopReason?: { readonly limit: LimitName } | 'interrupted' | ModelError | undefined;
}

/**
 * Asks for all candidates, several at a time. Repeats among them are corrected in candidate order, once all replies
 * have arrived, so network timing doesn't decide which of two equal proposals counts as the repeat.
 */
async function askForAll(model: LanguageModel, request: ProposalRequest): Promise<Proposals> {
  const { siblings = [], candidates, caller, concurrency, prompt } = request;
  const state: AskingState = {
    model,
    request,
    unjudgedCalls: new Map(),
    loggedCalls: new Set(),
    rejected: 0,
    isAnyAccepted: false,
    isReached: request.isReached !== false,
  };
  const all = candidates.map((candidate): Conversation => {
    const { messages } = prompt;
    return { candidate, calls: [], attempt: 0, messages, sampling: undefined, parameters: undefined };
  });
  const runLimited = pLimit(concurrency);
  let waitingCount = all.length;
  try {
    await askTogether(state, all);
    await Promise.all(
      all.map((conversation) =>
        runLimited(() => {
          // The waiting candidates share the remaining budget.
          const among = waitingCount--;
          return askForOne(state, conversation, siblings, among);
        }),
      ),
    );
    const accepted = [...siblings];
    for (const conversation of all) {
      if (accepted.length > siblings.length) await correctRepeat(state, conversation, accepted);
      if (conversation.parameters !== undefined) accepted.push(conversation.parameters);
    }
  } finally {
    for (const { calls } of all) for (const call of calls) log(state, call);
  }
  const { stopReason: reason } = state;
  if (reason instanceof ModelError) throw reason;
  if (reason !== 'interrupted') return { proposals: all, end: reason && { kind: 'limit', ...reason } };
  if (!caller.signal.aborted) return { proposals: [], end: { kind: 'interrupted' } };
  throw new ModelError('aborted', 'the call was aborted', { retries: 0, latencyMs: 0 });
}

/** Asks for one candidate until its reply is usable: generates, reads, and appends the correction. */
async function askForOne(
  state: AskingState,
  conversation: Conversation,
  siblings: readonly ParameterVector[],
  among = 1,
): Promise<void> {
  const { corrections, maxRejected = Number.POSITIVE_INFINITY } = state.request;
  for (; conversation.attempt <= corrections && state.stopReason === undefined; conversation.attempt++) {
    if (!state.isAnyAccepted && state.rejected >= maxRejected) {
      state.stopReason = { limit: 'rejections' };
      return;
    }
    const call = await nextCall(state, conversation, siblings, among);
    if (call === undefined) return;
    conversation.calls.push(call);
    const { outcome } = call;
    const isNew = !state.loggedCalls.has(call);
    if (outcome.kind === 'accepted') {
      conversation.parameters = outcome.parameters;
      state.isAnyAccepted = true;
      return;
    }
    // Calls for several candidates are logged in candidate order, once all replies have arrived.
    if (state.request.candidates.length === 1) log(state, call);
    if (outcome.kind === 'rejected') {
      if (isNew) state.rejected++;
      appendCorrection(state, conversation, outcome.failure);
    } else state.stopReason ??= fatalError(call, state.isReached);
    // The provider would refuse the same prompt again.
    if (outcome.kind === 'error' && ['content-filter', 'too-long'].includes(outcome.error)) return;
  }
}

/** Returns the next call of a conversation, recorded or new, after judging it; undefined after a stop or at a limit. */
async function nextCall(
  state: AskingState,
  conversation: Conversation,
  siblings: readonly ParameterVector[],
  among: number,
): Promise<CallRecord | undefined> {
  const { loggedCalls, unjudgedCalls, request } = state;
  const { attempt, candidate, messages } = conversation;
  const known = request.findRecorded(candidate, attempt, messages);
  if (known !== undefined) {
    // The process that recorded the call may have ended before it checked the proposal.
    const call = known.outcome.kind === 'accepted' ? await judgeCall(request, known, siblings) : known;
    loggedCalls.add(call);
    return call;
  }
  const arrivedCall = unjudgedCalls.get(candidate);
  unjudgedCalls.delete(candidate);
  if (arrivedCall !== undefined) return judgeCall(request, arrivedCall, siblings);
  const [call] = await sendRequest(state, [conversation], among);
  return call && judgeCall(request, call, siblings);
}

/** Sends one request for all candidates if the model supports it; those without a reply are requested separately. */
async function askTogether(state: AskingState, all: readonly Conversation[]): Promise<void> {
  const { model, unjudgedCalls, request } = state;
  const openConversations = all.filter((one) => !request.findRecorded(one.candidate, 0, one.messages));
  if (!model.givesSeveral || openConversations.length < 2) return;
  for (const call of await sendRequest(state, openConversations)) unjudgedCalls.set(call.candidate, call);
  const [failedCall] = unjudgedCalls.values();
  const failure = failedCall && fatalError(failedCall, state.isReached);
  if (failure === undefined) return;
  state.stopReason = failure;
  openConversations[0]!.calls.push(failedCall!);
}

async function sendRequest(
  state: AskingState,
  conversations: readonly Conversation[],
  among?: number,
): Promise<readonly CallRecord[]> {
  const { model, request } = state;
  const { siblings = [], caller, grammar, iteration, member, prompt, purpose, seed } = request;
  const { attempt, messages, sampling } = conversations[0]!;
  const callRequest: CallRequest = {
    iteration,
    attempt,
    candidates: conversations.map(({ candidate }) => ({ candidate, seed: seed(candidate, attempt) })),
    messages,
    shown: prompt.shown,
    purpose: purpose ?? (attempt > 0 ? 'correction' : 'proposal'),
    member,
    grammar,
    sampling,
    among,
  };
  const result = await callModel(model, callRequest, caller, (reply) => outcomeOf(request, reply, siblings));
  if (result.kind === 'ended') {
    state.isReached ||= result.calls.some(hasReachedModel);
    return result.calls;
  }
  // A request for several candidates may be too large for a limit that allows some of them.
  if (result.kind === 'stopped') state.stopReason ??= 'interrupted';
  else if (conversations.length === 1) state.stopReason ??= { limit: result.limit };
  return [];
}

/** Reads a reply and returns its outcome. */
function outcomeOf(
  request: ProposalRequest,
  { constrained, finishReason, text }: Completion,
  siblings: readonly ParameterVector[],
): CallRecord['outcome'] {
  const result = request.read(text, { seen: earlierUseFinder(request, siblings), finishReason, constrained });
  if (!result.ok) return { kind: 'rejected', failure: result.failure };
  const { predicted, value } = result;
  const program = request.programOf?.(value);
  return {
    kind: 'accepted',
    parameters: value,
    ...(predicted !== undefined && { predicted }),
    ...(program !== undefined && { program }),
  };
}

/** Reads a call's reply, and checks the proposal. If the process ends before the check, the resumed run checks it. */
async function judgeCall(
  request: ProposalRequest,
  call: CallRecord,
  siblings: readonly ParameterVector[],
): Promise<CallRecord> {
  if (call.completion === undefined) return call;
  const outcome = outcomeOf(request, call.completion, siblings);
  if (outcome.kind !== 'accepted') return { ...call, outcome };
  const failure = await request.check?.(outcome.parameters, siblings, 'model');
  return { ...call, outcome: failure === undefined ? outcome : { kind: 'rejected', failure } };
}

/** Asks again for a candidate if its proposal repeats that of an earlier candidate. */
async function correctRepeat(
  state: AskingState,
  conversation: Conversation,
  accepted: readonly ParameterVector[],
): Promise<void> {
  const last = conversation.calls.at(-1);
  if (conversation.parameters === undefined || last === undefined) return;
  const call = await judgeCall(state.request, last, accepted);
  if (state.loggedCalls.has(last)) state.loggedCalls.add(call);
  conversation.calls.splice(-1, 1, call);
  conversation.parameters = call.outcome.kind === 'accepted' ? call.outcome.parameters : undefined;
  if (call.outcome.kind !== 'rejected') return;
  appendCorrection(state, conversation, call.outcome.failure);
  conversation.attempt++;
  await askForOne(state, conversation, accepted);
}

/** Appends an unusable reply, and a message that explains what is wrong with it. */
function appendCorrection({ request }: AskingState, conversation: Conversation, failure: ParseFailure): void {
  const text = conversation.calls.at(-1)?.completion?.text;
  const isRepeat = failure.kind === 'repeated' || failure.kind === 'echo';
  conversation.sampling = isRepeat ? request.afterRepeat?.(conversation.attempt + 1) : undefined;
  conversation.messages = [
    ...conversation.messages,
    // Some servers reject a message without content.
    { role: 'assistant', content: text?.trim() ? text : '(no text)' },
    { role: 'user', content: request.prompt.formatCorrection(failure) },
  ];
}

/** Returns the error of a call, if it makes retrying pointless. */
export function fatalError({ outcome }: CallRecord, isReached: boolean): ModelError | undefined {
  if (outcome.kind !== 'error') return undefined;
  const { error, message } = outcome;
  const isUnreachable = error === 'network' && !isReached;
  return isFatal(error) || error === 'aborted' || isUnreachable
    ? new ModelError(error, message, outcome)
    : undefined;
}

function log({ loggedCalls, request }: AskingState, call: CallRecord): void {
  if (loggedCalls.has(call)) return;
  loggedCalls.add(call);
  request.onCall(call);
}
