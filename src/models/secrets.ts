/** Hides secrets that a server or proxy repeats in a reply. */
import { hideSecrets } from '../base/errors.js';
import type { Completion } from './language-model.js';

/** Shorter secrets may be part of any number or word, so hiding them would change replies. */
const shortest = 8;

/** Hides secrets in a reply, and omits its `tokens` if its text contains one. */
export function withoutSecrets(completion: Completion, secrets: readonly string[]): Completion {
  const long = secrets.filter(({ length }) => length >= shortest);
  const { tokens, ...rest } = completion;
  const { text, reasoning } = rest;
  const shown = hideSecrets(text, long);
  return {
    ...rest,
    text: shown,
    ...(tokens && shown === text && { tokens }),
    ...(reasoning !== undefined && { reasoning: hideSecrets(reasoning, long) }),
  };
}
