/** The source of an agent's replies: a model, a sampler that keeps token ids, or a player such as the expert. */
import { findAnswer } from '../models/answer-text.js';
import type { ChatMessage } from '../models/language-model.js';
import type { Choice } from './reading.js';

export interface Reply {
  readonly text: string;
}

export interface Exchange<R extends Reply = Reply> {
  readonly message: string;
  readonly reply: R;
}

/** A conversation that ends with a message to the model. */
export interface Conversation<R extends Reply = Reply> {
  /** Empty if there is no system message. */
  readonly system: string;
  /** The earlier exchanges that are shown to the model. */
  readonly before: readonly Exchange<R>[];
  /** True if `before` is the whole conversation so far. */
  readonly isComplete: boolean;
  readonly message: string;
  readonly seed: number;
  readonly choices: readonly Choice[] | undefined;
  /** 0-based index of the game, in the order requested. */
  readonly game: number;
  /** 0-based index of the reply within the game. */
  readonly turn: number;
}

export interface Speaker<R extends Reply = Reply> {
  /** Returns one reply per conversation, in order, or undefined to stop all games. */
  reply(conversations: readonly Conversation<R>[]): Promise<readonly R[] | undefined>;
  /** Counts the tokens of a prompt. If omitted, they are estimated. */
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
      { role: 'assistant', content: quoteReply(exchange.reply.text) },
    ]),
    { role: 'user', content: message },
  ];
}

/** Returns a reply's text for later turns, without its thinking. Never empty: some servers reject empty messages. */
function quoteReply(reply: string): string {
  const answer = findAnswer(reply).text.trim();
  return answer === '' ? '(no text)' : answer;
}
