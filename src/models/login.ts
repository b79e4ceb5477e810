import { hideSecrets } from '../errors.js';
import type { Completion } from './language-model.js';

/** What a web address may say of its user, as in `http://name:password@host`. */
export interface Login {
  /** The header that carries it (RFC 7617). */
  readonly authorization: string;
  /** Every form of it that is never to be seen. */
  readonly secrets: readonly string[];
}

/** An address, and the login that stood in it. */
export function withoutLogin(address: URL): { readonly baseUrl: URL; readonly login: Login | undefined } {
  const baseUrl = new URL(address);
  baseUrl.username = '';
  baseUrl.password = '';
  return { baseUrl, login: loginOf(address) };
}

export function loginOf({ username, password }: URL): Login | undefined {
  if (username === '' && password === '') return undefined;
  const token = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  // Some services take a key in the place of the name.
  const secret = password === '' ? username : password;
  return { authorization: `Basic ${token}`, secrets: [token, secret, decoded(secret)] };
}

/** A percent sign may stand for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A server, or a proxy before it, may give back what it was sent. */
export function withoutSecrets(completion: Completion, secrets: readonly string[]): Completion {
  const { text, reasoning } = completion;
  return {
    ...completion,
    text: hideSecrets(text, secrets),
    ...(reasoning !== undefined && { reasoning: hideSecrets(reasoning, secrets) }),
  };
}
