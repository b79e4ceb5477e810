/** Where an agent's replies come from: a model of any provider, or a sampler that keeps token ids. */

import { answerText } from '../models/answer-text.js';
import type { ChatMessage, LanguageModel } from '../models/language-model.js';
import type { Choice } from './choices.js';

export interface Reply {
  readonly text: string;
}

/** One message of the environment's, and what the model replied. */
export interface Exchange<R extends Reply = Reply> {
  readonly message: string;
  readonly reply: R;
}

/** A conversation in which the model has the word. */
export interface Conversation<R extends Reply = Reply> {
  /** Empty: there is no system message. */
  readonly system: string;
  /** What was said before, as far as it is shown. */
  readonly before: readonly Exchange<R>[];
  /** Whether that is all that was said. */
  readonly whole: boolean;
  readonly message: string;
  /** The seed of the sampling. */
  readonly seed: number;
  /** The actions that can be taken now, where they can be listed. */
  readonly choices: readonly Choice[] | undefined;
  /** Number of the game, in the order in which games were asked for, and of the reply within it; both from 0. */
  readonly game: number;
  readonly turn: number;
}

export interface Speaker<R extends Reply = Reply> {
  /** One reply to each conversation, in their order. */
  reply(conversations: readonly Conversation<R>[]): Promise<readonly R[]>;
  /** Tokens of a prompt; estimated where it is left out. */
  count?(messages: readonly ChatMessage[]): number;
}

export function messagesOf({
  system,
  before,
  message,
}: Pick<Conversation, 'system' | 'before' | 'message'>): readonly ChatMessage[] {
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system } as const]),
    ...before.flatMap((exchange): ChatMessage[] => [
      { role: 'user', content: exchange.message },
      { role: 'assistant', content: quoted(exchange.reply.text) },
    ]),
    { role: 'user', content: message },
  ];
}

/** A reply as later turns show it: without its thinking, and never empty, which some servers refuse. */
function quoted(reply: string): string {
  const answer = answerText(reply).text.trim();
  return answer === '' ? '(no text)' : answer;
}

/** @throws ModelError when the provider gave no completion */
export function modelSpeaker(model: LanguageModel): Speaker {
  return {
    reply: (conversations) =>
      Promise.all(
        conversations.map(async (conversation) => {
          const [completion] = await model.generate(messagesOf(conversation), { seeds: [conversation.seed] });
          return { text: completion!.text };
        }),
      ),
  };
}
