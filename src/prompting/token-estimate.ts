import type { ChatMessage } from '../models/language-model.js';

/** Number of tokens that a chat template adds to a message, on the high side. */
const messageTokens = 8;

/** Estimates the number of tokens in a whole prompt, erring on the high side. */
export function estimatePromptTokens(messages: readonly Pick<ChatMessage, 'content'>[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content) + messageTokens, 0);
}

/**
 * Estimates tokens, on the high side: one per run of up to 4 letters (a to z, in either case), per space before a
 * digit, and per UTF-16 code unit that is neither such a letter nor a space.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let letters = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const lower = code | 32;
    if (lower >= 97 && lower <= 122) {
      if (letters++ % 4 === 0) tokens++;
      continue;
    }
    letters = 0;
    if (code === 32) {
      const next = text.charCodeAt(i + 1);
      if (next >= 48 && next <= 57) tokens++;
    } else tokens++;
  }
  return tokens;
}
