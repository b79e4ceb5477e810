/**
 * Calls the model of a play. Records each call before sending it, keeps within the limits, and reuses recorded replies.
 */
import type { Agent } from '../agents/agent.js';
import { chosenOf, type ScoredChoice, scoredChoices } from '../agents/scored.js';
import { type Conversation, messagesOf, type Reply, type Speaker } from '../agents/speaker.js';
import { withCalls } from '../agents/tool-turns.js';
import { type AskingRequest, askRound, finalError } from '../experiment/budget/ask-round.js';
import { RunStopped } from '../experiment/stopping.js';
import { type LanguageModel, ModelError } from '../models/language-model.js';
import type { CallRecord, EndedCall, LimitName } from '../runs/calls.js';
import type { PlayConfig } from './play-config.js';

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

/** A play gives up after this many consecutive rounds in which every call fails. */
const patience = 3;

/** `reply` throws RunStopped at a limit or on a stop request, and ModelError if the model keeps failing. */
export function modelSpeaker(settings: ModelSpeakerSettings): Speaker<ModelReply> {
  const { model, policy, wave } = settings;
  // Conversations differ, so each needs its own call.
  const asking = {
    ...settings,
    iteration: wave,
    model: { id: model.id, rate: model.rate, generate: generating(settings) },
  };
  let silent = 0;
  return {
    ...(settings.count && { count: settings.count }),
    async reply(conversations) {
      const seeds = new Map(conversations.map(({ game, seed }) => [game, seed]));
      const attempt = conversations[0]!.turn;
      const { isCut, limit, release, replies } = await askRound(
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
      release();
      for (const call of calls) {
        const error = call && finalError(call, settings);
        if (error === undefined) continue;
        const reached = error.kind === 'aborted' ? settings.timeUp() : undefined;
        throw reached === undefined ? error : new RunStopped({ kind: 'limit', limit: reached });
      }
      const reached = isCut && !settings.finish.aborted ? settings.timeUp() : undefined;
      if (reached !== undefined) throw new RunStopped({ kind: 'limit', limit: reached });
      if (isCut || settings.finish.aborted) throw new RunStopped({ kind: 'interrupted' });
      if (limit !== undefined) throw new RunStopped({ kind: 'limit', limit });
      silent = calls.every((call) => call?.outcome.kind === 'error') ? silent + 1 : 0;
      if (silent >= patience) throw silence(calls);
      return calls.map((call, i) => ({ text: textOf(call!, conversations[i]!), call: call! }));
    },
  };
}

/** Records contain tool calls as the model wrote them; prompts contain them in the form of the chat template. */
function generating({ agent: { tools }, model }: ModelSpeakerSettings): LanguageModel['generate'] {
  if (tools === undefined) return model.generate.bind(model);
  return (messages, options) => model.generate(withCalls(messages), { ...options, tools });
}

/** The options that restrict a call to the possible actions. */
function amongChoices({ act }: PlayConfig['policy'], { choices }: Conversation) {
  const texts = choices?.map(({ text }) => text);
  if (act === 'scored') return { score: texts };
  return act === 'constrained' ? { choices: texts } : {};
}

function silence(calls: readonly (CallRecord | undefined)[]): ModelError {
  const outcome = calls.at(-1)?.outcome;
  const message = outcome?.kind === 'error' ? outcome.message : 'the model gave no answer';
  return new ModelError('server', message, { retries: 0, latencyMs: 0 });
}

/** The text of a reply, or of the action selected by scores; empty for a failed call. */
function textOf({ completion, outcome }: CallRecord, { choices }: Conversation): string {
  const chosen = outcome.kind === 'accepted' && outcome.scored !== undefined ? outcome.action : undefined;
  if (chosen === undefined) return completion?.text ?? '';
  return choices!.find(({ action }) => JSON.stringify(action) === JSON.stringify(chosen))!.text;
}

function judge(
  { completion, cost, outcome, ...base }: EndedCall,
  { choices, seed }: Conversation,
  { agent, policy }: ModelSpeakerSettings,
): CallRecord {
  if (completion === undefined) return { ...base, outcome: outcome! };
  const rest = { completion, ...(cost !== undefined && { cost }) };
  if (completion.scores !== undefined) {
    const scored: readonly ScoredChoice[] = scoredChoices(choices!, completion.scores, policy.scoring);
    const { action } = choices![chosenOf(scored, policy.scoring, seed)]!;
    return { ...base, outcome: { kind: 'accepted', parameters: [], action, scored }, ...rest };
  }
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
