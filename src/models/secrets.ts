/** Hides secrets that a server or proxy repeats in a reply. */
import { hideSecrets } from '../base/errors.js';
import type { Completion } from './language-model.js';

/** Shorter secrets may be part of any number or word, so hiding them would change replies. */
const minLength = 8;

/** Hides secrets in the text and reasoning of a completion. */
export function withoutSecrets(completion: Completion, secrets: readonly string[]): Completion {
  const longSecrets = secrets.filter(({ length }) => length >= minLength);
  const { reasoning, text } = completion;
  return {
    ...completion,
    text: hideSecrets(text, longSecrets),
    ...(reasoning !== undefined && { reasoning: hideSecrets(reasoning, longSecrets) }),
  };
}
