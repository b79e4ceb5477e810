/** Secrets that a server, or a proxy before it, repeats in its reply: they are read as they stand, and kept nowhere. */
import { hideSecrets, mapText } from '../base/errors.js';
import type { Completion } from './language-model.js';

/** A shorter one may be a part of any number or word: to hide it would change what replies say. */
const shortest = 8;

/** The text of each reply in which something was hidden, and what that was. */
const received = new WeakMap<Completion, { readonly text: string; readonly secrets: readonly string[] }>();

/** Hides secrets in a reply. Tokens that spell one are left out. */
export function withoutSecrets(completion: Completion, secrets: readonly string[]): Completion {
  const long = secrets.filter(({ length }) => length >= shortest);
  const { tokens, ...rest } = completion;
  const { text, reasoning } = rest;
  const shown = hideSecrets(text, long);
  const safe = {
    ...rest,
    text: shown,
    ...(tokens && shown === text && { tokens }),
    ...(reasoning !== undefined && { reasoning: hideSecrets(reasoning, long) }),
  };
  if (shown !== text) received.set(safe, { text, secrets: long });
  return safe;
}

/** The text of a reply as it was received: what is hidden may be a part of the answer. For reading only. */
export const receivedText = (completion: Completion): string =>
  received.get(completion)?.text ?? completion.text;

/** Hides in data that was read from a reply what is hidden in the reply. */
export function hiddenAsIn<T>(completion: Completion, data: T): T {
  const secrets = received.get(completion)?.secrets;
  return secrets === undefined ? data : mapText(data, (text) => hideSecrets(text, secrets));
}
