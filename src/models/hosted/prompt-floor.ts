/** How many tokens a server must have read, by what it read of an earlier prompt that is mostly the same. */
import type { ChatMessage } from '../language-model.js';
import { mostTokensOf } from '../reply-faults.js';

/** Tokens that may merge with others where a text is parted, or that a template gives a message. */
const seam = 8;

/**
 * Prompts of a run grow at their end, so almost all of one was read before. A count that falls shows a cut that bounds
 * of tokens by their text are too wide for.
 */
export class PromptFloor {
  #last: { readonly text: string; readonly tokens: number } | undefined;

  /** Fewest tokens of the prompt; 0 where nothing like it was read. */
  of(messages: readonly ChatMessage[]): number {
    if (this.#last === undefined) return 0;
    const gone = missingIn(textOf(messages), this.#last.text);
    return Math.max(0, this.#last.tokens - mostTokensOf(gone) - seam * (1 + gone.split(mark).length));
  }

  /** @param tokens that the server read of all of it */
  remember(messages: readonly ChatMessage[], tokens: number): void {
    this.#last = { text: textOf(messages), tokens };
  }
}

/** Begins a message. */
const mark = '\u0000';

/** Templates leave thoughts of earlier answers out. */
const textOf = (messages: readonly ChatMessage[]) =>
  messages
    .map(({ role, content }) =>
      role === 'assistant' ? mark + content.replaceAll(/<think>[\s\S]*?<\/think>/g, '') : mark + content,
    )
    .join('');

/** What an earlier text has between the beginning and the end that it shares with a text. */
function missingIn(text: string, earlier: string): string {
  const shorter = Math.min(text.length, earlier.length);
  let start = 0;
  while (start < shorter && text[start] === earlier[start]) start++;
  let end = 0;
  while (end < shorter - start && text.at(-1 - end) === earlier.at(-1 - end)) end++;
  return earlier.slice(start, earlier.length - end);
}
