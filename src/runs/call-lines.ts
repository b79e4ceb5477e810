/**
 * Lines of `calls.jsonl`. Prompts of a run repeat each other: the history grows, and the candidates of an iteration
 * answer the same one. So a message is written as its parts: what it shares with the last message at its place, and
 * what is new. Lines that hold all messages as they stand, as those of earlier versions do, start over.
 */
import type { ChatMessage } from '../models/language-model.js';
import { partsOf, type TextPart, textOf } from '../storage/text-parts.js';
import type { CallRecord } from './calls.js';

/** A message as it is written: its text, or the parts of it in terms of the last message at the same place. */
interface WrittenMessage {
  readonly role: ChatMessage['role'];
  readonly content: string | readonly TextPart[];
}

/** A line of `calls.jsonl`. */
export interface WrittenCall extends Omit<CallRecord, 'messages'> {
  readonly messages: readonly WrittenMessage[];
}

/** So many lines from one whole prompt to the next: what stands behind a damaged line can be read from there. */
const linesBetweenWhole = 256;

/** Shorter messages are written as they stand. */
const shortestShared = 200;

/** The last message at each place of the prompts so far. */
class LastMessages {
  #texts: (string | undefined)[] = [];

  at(place: number): string | undefined {
    return this.#texts[place];
  }

  keep(messages: readonly ChatMessage[], isWhole: boolean): void {
    if (isWhole) this.#texts = [];
    for (const [place, { content }] of messages.entries()) this.#texts[place] = content;
  }
}

const isWhole = ({ messages }: Pick<WrittenCall, 'messages'>) =>
  messages.every(({ content }) => typeof content === 'string');

/** Writes calls in terms of those that it wrote before. */
export class CallEncoder {
  readonly #last = new LastMessages();

  /** @param line number of lines before this one */
  encode(call: CallRecord, line: number): WrittenCall {
    const startsOver = line % linesBetweenWhole === 0;
    const messages = call.messages.map(({ role, content }, place): WrittenMessage => {
      const earlier = startsOver ? undefined : this.#last.at(place);
      return { role, content: earlier === undefined ? content : shorterOf(content, earlier) };
    });
    const written = { ...call, messages };
    this.#last.keep(call.messages, isWhole(written));
    return written;
  }
}

function shorterOf(content: string, earlier: string): WrittenMessage['content'] {
  if (content.length < shortestShared) return content;
  const parts = partsOf(content, earlier);
  const isShorter = parts.some((part) => typeof part !== 'string');
  return isShorter && JSON.stringify(parts).length < content.length ? parts : content;
}

/** Reads calls in the order in which they were written, from the first line or one that starts over. */
export class CallDecoder {
  readonly #last = new LastMessages();

  /** Forgets what came before: behind a line that could not be read, only those are right that start over. */
  startOver(): void {
    this.#last.keep([], true);
  }

  /** @throws RangeError for a message whose parts are not those of an earlier one */
  decode(written: WrittenCall): CallRecord {
    const messages = written.messages.map(({ role, content }, place): ChatMessage => {
      if (typeof content === 'string') return { role, content };
      const earlier = this.#last.at(place);
      if (earlier === undefined) throw new RangeError('it takes over parts of a message that is missing');
      return { role, content: textOf(content, earlier) };
    });
    this.#last.keep(messages, isWhole(written));
    return { ...written, messages };
  }
}
