/** Calls the model that plays games, within the limits; reuses the replies of an interrupted process. */
import pLimit from 'p-limit';
import { type Completion, type LanguageModel, ModelError } from '../models/language-model.js';
import { callModel, isStopped } from '../proposers/call.js';
import { fatalError } from '../proposers/language-model.js';
import { type CallRecord, hasReachedModel, type LimitName } from '../runs/calls.js';
import { faultReporter, type StopReason } from '../runs/events.js';
import type { RunDirectory } from '../runs/writer.js';
import type { RunSession } from '../studies/run.js';
import { callConcurrency, type PlaySetup } from './play-setup.js';
import { type Conversation, messagesOf, type Speaker } from './speaker.js';

/** The agent run fails after this many consecutive rounds in which every call fails. */
const maxFailedRounds = 3;

export interface ModelSpeakers {
  /** @param wave 1-based number of the batch of games that are played concurrently */
  speaker(wave: number): Speaker;
  /** The reason why a speaker stopped the games: a limit, or a stop request; undefined if none did. */
  stopReason(): StopReason | undefined;
}

/** Creates an agent run's speakers, which throw a ModelError if aborted, and for fatal or repeated failures. */
export function createModelSpeakers(
  { agent, config, ledger }: PlaySetup,
  model: LanguageModel,
  { emit, now, stop }: RunSession,
  {
    msLeft,
    send,
    unfinishedCalls,
  }: {
    readonly msLeft: number;
    readonly send: RunDirectory['send'];
    /** Calls that an earlier process made for a batch of games that it didn't complete. */
    readonly unfinishedCalls: readonly CallRecord[];
  },
): ModelSpeakers {
  const timer = Number.isFinite(msLeft)
    ? AbortSignal.timeout(Math.round(Math.max(0, Math.min(msLeft, 2 ** 31 - 1))))
    : undefined;
  const caller = {
    ledger,
    finish: stop.finish,
    signal: timer === undefined ? stop.abort : AbortSignal.any([stop.abort, timer]),
    now,
    send,
    onFault: faultReporter(emit),
    onRead: (read: number, of: number) => emit({ kind: 'reading', read, of }),
    onWait: (ms: number) => emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
  };
  const isTimeUp = () => timer?.aborted === true && !stop.abort.aborted;
  const shownWarnings = new Set<string>();
  const limit = pLimit(callConcurrency(config));
  let isReached = false;
  let failedRounds = 0;
  let stopReason: StopReason | undefined;

  /** Finds the call that an earlier process made at this point. If a game's last call failed, it is made again. */
  function findRecordedCall(point: Pick<CallRecord, 'iteration' | 'candidate' | 'attempt' | 'messages'>) {
    const gameCalls = unfinishedCalls.filter(
      ({ candidate, iteration }) => candidate === point.candidate && iteration === point.iteration,
    );
    return gameCalls.findLast(
      ({ attempt, messages, outcome }) =>
        attempt === point.attempt &&
        JSON.stringify(messages) === JSON.stringify(point.messages) &&
        (outcome.kind !== 'error' || gameCalls.some((later) => later.attempt > attempt)),
    );
  }

  function log(call: CallRecord): void {
    isReached ||= hasReachedModel(call);
    emit({ kind: 'call-finished', call });
    for (const message of call.completion?.warnings ?? []) {
      if (!shownWarnings.has(message)) emit({ kind: 'warning', message });
      shownWarnings.add(message);
    }
  }

  function judge({ finishReason, text }: Completion, { choices }: Conversation): CallRecord['outcome'] {
    const action = agent.extractAction(text, choices);
    if (action !== undefined) return { kind: 'accepted', parameters: [], action };
    return { kind: 'rejected', failure: { kind: finishReason === 'length' ? 'truncated' : 'missing' } };
  }

  async function reply(iteration: number, conversations: readonly Conversation[]) {
    let waitingCount = conversations.length;
    let exceededLimit: LimitName | undefined;
    const ask = async (conversation: Conversation): Promise<CallRecord | undefined> => {
      const { choices, game: candidate, seed, turn: attempt } = conversation;
      const among = waitingCount--;
      const messages = messagesOf(conversation);
      const known = findRecordedCall({ iteration, candidate, attempt, messages });
      if (known !== undefined || exceededLimit !== undefined) return known;
      const request = {
        iteration,
        attempt,
        candidates: [{ candidate, seed }],
        messages,
        purpose: attempt > 0 ? 'correction' : 'proposal',
        among,
        ...(config.policy.act === 'constrained' && { choices: choices?.map(({ text }) => text) }),
      };
      const result = await callModel(model, request, caller, (completion) => judge(completion, conversation));
      if (result.kind === 'limit') exceededLimit = result.limit;
      return result.kind === 'ended' ? result.calls[0] : undefined;
    };
    const calls = await Promise.all(conversations.map((conversation) => limit(() => ask(conversation))));
    for (const call of calls) if (call !== undefined && !unfinishedCalls.includes(call)) log(call);
    for (const call of calls) {
      const error = call && fatalError(call, isReached);
      if (error !== undefined && (error.kind !== 'aborted' || !isTimeUp())) throw error;
    }
    if (isStopped(caller)) {
      const isLimit = !stop.finish.aborted && isTimeUp();
      stopReason = isLimit ? { kind: 'limit', limit: 'minutes' } : { kind: 'interrupted' };
    } else if (exceededLimit !== undefined) stopReason = { kind: 'limit', limit: exceededLimit };
    if (stopReason !== undefined) return undefined;
    failedRounds = calls.every((call) => call?.outcome.kind === 'error') ? failedRounds + 1 : 0;
    if (failedRounds >= maxFailedRounds) throw neverAnswered(calls);
    return calls.map((call) => ({ text: call!.completion?.text ?? '' }));
  }

  return {
    speaker: (wave) => ({ reply: (conversations) => reply(wave, conversations) }),
    stopReason: () => stopReason,
  };
}

function neverAnswered(calls: readonly (CallRecord | undefined)[]): ModelError {
  const outcome = calls.at(-1)?.outcome;
  const message = outcome?.kind === 'error' ? outcome.message : 'the model gave no reply';
  return new ModelError('server', message, { retries: 0, latencyMs: 0 });
}
