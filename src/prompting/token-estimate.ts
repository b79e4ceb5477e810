import type { ChatMessage } from '../models/language-model.js';

/** Maximum number of tokens that a chat template adds per message. */
const messageTokens = 8;

/** Estimated number of tokens of a whole prompt, erring on the high side. */
export function estimatePromptTokens(messages: readonly Pick<ChatMessage, 'content'>[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content) + messageTokens, 0);
}

/** A high estimate of a text's tokens: one per digit, mark, line break, four letters, and space before a digit. */
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
