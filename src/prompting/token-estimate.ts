import type { ChatMessage } from '../models/language-model.js';

/** Tokens that a chat template adds to each message, at most. */
const messageTokens = 8;

/** Estimated tokens of a whole prompt, on the high side. */
export function estimatePromptTokens(messages: readonly Pick<ChatMessage, 'content'>[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content) + messageTokens, 0);
}

/**
 * A count of tokens that errs on the high side, without any model's tokenizer: a token for every digit, mark and
 * line, one for every four letters begun, one for every other character beyond ASCII, and one for a space before
 * a digit (many vocabularies hold no number with its space). Linear in the length.
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
