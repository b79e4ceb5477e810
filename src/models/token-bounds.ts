import type { ChatMessage } from './language-model.js';

/** Tokens that a chat template adds to each message (role markers), at most. */
const templateTokens = 8;
/** Tokens that a template may add on its own: a default system prompt, a tool preamble. */
const preambleTokens = 256;

/**
 * No fewer tokens than any common tokenizer makes of the messages: a token for each digit and sign (numbers are most
 * of a prompt here), one for every three letters, one for every byte of other scripts.
 */
export function mostTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + templateTokens + mostTokensOf(content), preambleTokens);
}

/** The same of a text alone. */
export function mostTokensOf(text: string): number {
  let tokens = 0;
  for (const [run] of text.matchAll(/ ?[A-Za-z]+|[ \t]+|\p{ASCII}|\P{ASCII}+/gu)) {
    if (/[A-Za-z]$/.test(run)) tokens += Math.ceil(run.trim().length / 3);
    else if (/^[ \t]/.test(run)) tokens += 1;
    else tokens += Buffer.byteLength(run);
  }
  return tokens;
}

/**
 * No more tokens than any common tokenizer makes of the messages: none joins two words, or digits with anything else,
 * or more than four digits; marks may join one another, and the last one may join the word after it. A fifth is left
 * for the exceptions.
 */
export function fewestTokens(messages: readonly ChatMessage[]): number {
  let tokens = 0;
  for (const { content } of messages) {
    for (const [run] of content.matchAll(/[A-Za-z]+|[0-9]+|[!-/:-@[-`{-~]+(?![A-Za-z])/g)) {
      tokens += /^[0-9]/.test(run) ? Math.ceil(run.length / 4) : 1;
    }
  }
  return Math.floor(tokens * 0.8);
}
