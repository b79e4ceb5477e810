/** Calls the model of a play run, within the limits; reuses recorded replies. */
import pLimit from 'p-limit';
import { type Completion, type LanguageModel, ModelError } from '../models/language-model.js';
import { type Caller, callModel, isStopped } from '../proposers/call.js';
import { finalError } from '../proposers/language-model.js';
import type { ProposalRequest } from '../proposers/proposer.js';
import type { CallRecord, LimitName } from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import type { Agent } from './agent.js';
import type { PlayConfig } from './play-config.js';
import { type Conversation, messagesOf, type Reply, type Speaker } from './speaker.js';

export interface ModelReply extends Reply {
  readonly call?: CallRecord;
}

export interface ModelSpeakerSettings extends Pick<ProposalRequest, 'concurrency' | 'recorded'> {
  readonly model: LanguageModel;
  readonly caller: Caller & { readonly finish: AbortSignal };
  readonly agent: Agent;
  readonly policy: PlayConfig['policy'];
  /** 1-based index of the batch of games that are played concurrently. */
  readonly wave: number;
  /** The time limit that aborted the calls, if one did. */
  readonly timeUp: () => LimitName | undefined;
  readonly isReached: () => boolean;
  readonly onCall: (call: CallRecord) => void;
  readonly count?: Speaker['count'];
}

/** A play run gives up after this many consecutive rounds in which every call fails. */
const patience = 3;

interface ModelSpeaker extends Speaker<ModelReply> {
  /** The reason why `reply` returned nothing: a limit, or a stop request. */
  readonly stopped: () => StopReason | undefined;
}

/** `reply` throws a ModelError if the model keeps failing. */
export function modelSpeaker(settings: ModelSpeakerSettings): ModelSpeaker {
  const { caller, concurrency, isReached, model, onCall, policy, recorded, timeUp, wave } = settings;
  let silent = 0;
  let stopped: StopReason | undefined;
  return {
    stopped: () => stopped,
    ...(settings.count && { count: settings.count }),
    async reply(conversations) {
      const limit = pLimit(concurrency);
      let waiting = conversations.length;
      let refused: LimitName | undefined;
      const ask = async (conversation: Conversation): Promise<CallRecord | undefined> => {
        const { game, seed, turn } = conversation;
        const among = waiting--;
        const messages = messagesOf(conversation);
        const known = recorded(game, turn, messages);
        if (known !== undefined || refused !== undefined) return known;
        const asked = {
          iteration: wave,
          attempt: turn,
          candidates: [{ candidate: game, seed }],
          messages,
          purpose: turn > 0 ? 'correction' : 'proposal',
          among,
          ...amongChoices(policy, conversation),
        };
        const called = await callModel(model, asked, caller, (reply) => judge(reply, conversation, settings));
        if (called.kind === 'limit') refused = called.limit;
        return called.kind === 'ended' ? called.calls[0] : undefined;
      };
      const calls = await Promise.all(conversations.map((one) => limit(() => ask(one))));
      for (const [i, call] of calls.entries()) {
        const { game, turn } = conversations[i]!;
        if (call !== undefined && recorded(game, turn, call.messages) !== call) onCall(call);
      }
      for (const call of calls) {
        const error = call && finalError(call, isReached());
        if (error === undefined) continue;
        if (error.kind !== 'aborted' || timeUp() === undefined) throw error;
      }
      const reached = caller.finish.aborted ? undefined : timeUp();
      if (isStopped(caller))
        stopped = reached === undefined ? { kind: 'interrupted' } : { kind: 'limit', limit: reached };
      else if (refused !== undefined) stopped = { kind: 'limit', limit: refused };
      if (stopped !== undefined) return undefined;
      silent = calls.every((call) => call?.outcome.kind === 'error') ? silent + 1 : 0;
      if (silent >= patience) throw silence(calls);
      return calls.map((call) => ({ text: call!.completion?.text ?? '', call: call! }));
    },
  };
}

/** The options that restrict a call to the possible actions. */
const amongChoices = ({ act }: PlayConfig['policy'], { choices }: Conversation) =>
  act === 'constrained' ? { choices: choices?.map(({ text }) => text) } : {};

function silence(calls: readonly (CallRecord | undefined)[]): ModelError {
  const outcome = calls.at(-1)?.outcome;
  const message = outcome?.kind === 'error' ? outcome.message : 'the model gave no answer';
  return new ModelError('server', message, { retries: 0, latencyMs: 0 });
}

function judge(
  { finishReason, text }: Completion,
  { choices }: Conversation,
  { agent }: ModelSpeakerSettings,
): CallRecord['outcome'] {
  const action = agent.extractAction(text, choices);
  if (action !== undefined) return { kind: 'accepted', parameters: [], action };
  return { kind: 'rejected', failure: { kind: finishReason === 'length' ? 'truncated' : 'missing' } };
}
