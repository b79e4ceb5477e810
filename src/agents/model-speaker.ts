/**
 * Calls the model of a play run. Records each call before sending it, keeps within the limits, and reuses recorded replies.
 */

import { type AskingRequest, askRound, finalError } from '../experiment/budget/ask-round.js';
import { type LanguageModel, ModelError } from '../models/language-model.js';
import type { CallRecord, EndedCall, LimitName } from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import type { Agent } from './agent.js';
import type { PlayConfig } from './play-config.js';
import { type Conversation, messagesOf, type Reply, type Speaker } from './speaker.js';

export interface ModelReply extends Reply {
  readonly call?: CallRecord;
}

export interface ModelSpeakerSettings
  extends Pick<
    AskingRequest,
    'ledger' | 'signal' | 'now' | 'ask' | 'recorded' | 'arrived' | 'concurrency' | 'onWait' | 'onFault'
  > {
  readonly model: LanguageModel;
  readonly agent: Agent;
  readonly policy: PlayConfig['policy'];
  /** 1-based index of the batch of games that are played concurrently. */
  readonly wave: number;
  readonly finish: AbortSignal;
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
  const { model, policy, wave } = settings;
  // Conversations differ, so each needs its own call.
  const asking = {
    ...settings,
    iteration: wave,
    model,
  };
  let silent = 0;
  let stopped: StopReason | undefined;
  return {
    stopped: () => stopped,
    ...(settings.count && { count: settings.count }),
    async reply(conversations) {
      const seeds = new Map(conversations.map(({ game, seed }) => [game, seed]));
      const attempt = conversations[0]!.turn;
      const { isCut, limit, replies } = await askRound(
        { ...asking, seed: (candidate) => seeds.get(candidate)! },
        conversations.map((conversation) => ({
          candidate: conversation.game,
          messages: messagesOf(conversation),
          ...amongChoices(policy, conversation),
        })),
        attempt,
      );
      const calls = replies.map((reply, i) => {
        if (reply === undefined || reply.kind === 'recorded') return reply?.call;
        const call = judge(reply.call, conversations[i]!, settings);
        settings.onCall(call);
        return call;
      });
      for (const call of calls) {
        const error = call && finalError(call, settings);
        if (error === undefined) continue;
        if (error.kind !== 'aborted' || settings.timeUp() === undefined) throw error;
      }
      const reached = settings.finish.aborted ? undefined : settings.timeUp();
      if (isCut || settings.finish.aborted)
        stopped = reached === undefined ? { kind: 'interrupted' } : { kind: 'limit', limit: reached };
      else if (limit !== undefined) stopped = { kind: 'limit', limit };
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
  { completion, cost, outcome, ...base }: EndedCall,
  { choices }: Conversation,
  { agent }: ModelSpeakerSettings,
): CallRecord {
  if (completion === undefined) return { ...base, outcome: outcome! };
  const rest = { completion, ...(cost !== undefined && { cost }) };
  const action = agent.extractAction(completion.text, choices);
  const failure = completion.finishReason === 'length' ? 'truncated' : 'missing';
  return {
    ...base,
    outcome:
      action === undefined
        ? { kind: 'rejected', failure: { kind: failure } }
        : { kind: 'accepted', parameters: [], action },
    ...rest,
  };
}
