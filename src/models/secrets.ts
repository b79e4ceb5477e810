/** Hides secrets that a server or proxy repeats in a reply, which is parsed as received but stored without them. */
import { hideSecrets, mapText } from '../base/errors.js';
import type { Completion } from './language-model.js';

/** Shorter secrets may be part of any number or word, so hiding them would change replies. */
const shortest = 8;

/** The original text of each reply with hidden parts, and the secrets that were hidden. */
const received = new WeakMap<Completion, { readonly text: string; readonly secrets: readonly string[] }>();

/** Hides secrets in a reply, and omits its `tokens` if its text contains one. */
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

/** The text of a reply as received, for parsing only, because a hidden part may belong to the answer. */
export const receivedText = (completion: Completion): string =>
  received.get(completion)?.text ?? completion.text;

/** Hides a reply's secrets in data that was parsed from it. */
export function hiddenAsIn<T>(completion: Completion, data: T): T {
  const secrets = received.get(completion)?.secrets;
  return secrets === undefined ? data : mapText(data, (text) => hideSecrets(text, secrets));
}
