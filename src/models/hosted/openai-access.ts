import { unescape as decoded } from 'node:querystring';
import type { ClientOptions } from 'openai';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { OpenAIConfig } from '../settings.js';

/** The login in a URL such as `http://name:password@host`. */
export interface Credentials {
  /** Value of the `authorization` header (RFC 7617). */
  readonly authorization: string;
  /** The password or key in each of its encodings, all of which must be hidden in output. */
  readonly secrets: readonly string[];
}

/** Removes the login from a URL, because `fetch` rejects it, and returns it; undefined if there is none. */
export function extractCredentials(url: URL): Credentials | undefined {
  const { username, password } = url;
  if (username === '' && password === '') return undefined;
  [url.username, url.password] = ['', ''];
  const token = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  // Some services expect a key as the name, without a password.
  const secret = password === '' ? username : password;
  return { authorization: `Basic ${token}`, secrets: [token, secret, decoded(secret)] };
}

/** Returns the client's settings. @throws UserError if the key is missing or unusable, or the URL is unusable */
export function openaiClientSettings(config: OpenAIConfig, env: CommandContext['env']) {
  const baseUrl = readBaseUrl(config, env);
  const login = extractCredentials(baseUrl);
  const query = new URLSearchParams(baseUrl.search);
  baseUrl.search = '';
  const apiKey = readApiKey(config, env);
  const { apiKeyEnv } = config;
  if (apiKey === undefined && login === undefined && !isLoopback(baseUrl))
    throw new UserError({
      field: 'model.apiKeyEnv',
      value: apiKeyEnv,
      message: `the API key is missing: the environment variable ${apiKeyEnv} is not set or is empty`,
      hint: `export ${apiKeyEnv}=… (any value for a server that needs no key), or set model.apiKeyEnv to the name of the variable that contains the key`,
    });
  // Azure expects a key in `api-key`, and an Entra token (a JWT) in `authorization`.
  const isAzure = baseUrl.hostname.endsWith('.azure.com') || query.has('api-version');
  const defaultHeaders =
    isAzure && apiKey !== undefined && !apiKey.startsWith('eyJ')
      ? { 'api-key': apiKey, authorization: null }
      : login && { authorization: login.authorization };
  return {
    baseUrl,
    /** Strings that are sent but must stay hidden: the key, the password, and the values of the user's headers. */
    secrets: [apiKey ?? '', ...(login?.secrets ?? []), ...headerValues(env)],
    settings: {
      baseURL: baseUrl.href.replace(/\/$/, ''),
      apiKey: apiKey ?? 'none',
      defaultQuery: Object.fromEntries(query),
      defaultHeaders,
      logLevel: 'off',
      maxRetries: 0,
      // No timeout here: retry.ts enforces the deadline of each call.
      timeout: 2 ** 31 - 1,
    } satisfies ClientOptions,
  };
}

function readBaseUrl({ baseUrl }: OpenAIConfig, env: CommandContext['env']): URL {
  const address = baseUrl ?? (env.OPENAI_BASE_URL?.trim() || 'https://api.openai.com/v1');
  const variable = baseUrl === undefined ? 'OPENAI_BASE_URL' : undefined;
  const url = parseServerUrl(address, 'model.baseUrl', variable);
  if (!hasSecretPart(url)) return url;
  const message = variable === undefined ? secretProblem.message : `${variable}: ${secretProblem.message}`;
  throw new UserError({ field: 'model.baseUrl', ...secretProblem, message });
}

/** Parses a server's address. @param variable the environment variable that contains it, if any */
export function parseServerUrl(address: string, field: string, variable: string | undefined): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  throw new UserError({
    field,
    // Don't show a login, which even an invalid address may contain.
    ...(!address.includes('@') && { value: address }),
    message: `${variable ?? 'this'} is not a valid address`,
    hint: `use the full URL, e.g. http://127.0.0.1:${field === 'model.host' ? '11434' : '8000/v1'}`,
  });
}

/** Names of query parameters that may be secret, unlike `api-version`. */
const secretName = /key|token|secret|sig|code/i;

/** Prefixes of API keys. */
const keyPrefix = /^((sk|pk|gsk|csk|hf|xai|key|nvapi|tgp|fw|ghp)[-_]|AIza|eyJ)/;

/** True if a text looks like a key. Purely hexadecimal text doesn't: it may be the id of an account. */
const isKeyLike = (text: string): boolean =>
  /\d/.test(text) &&
  ((text.length >= 12 && keyPrefix.test(text)) ||
    text.split(/[^A-Za-z\d]/).some((word) => word.length >= 20 && /[g-z]/i.test(word) && /\d/.test(word)));

/** True if a URL may contain a secret. Any fragment counts, because fragments aren't sent and have no other use. */
export function hasSecretPart({ hash, pathname, searchParams }: URL): boolean {
  const parts = decoded(pathname).split('/');
  const isAfterName = (i: number) => /^(api[-_]?)?(key|token|secret)s?$/i.test(parts[i - 1] ?? '');
  return (
    hash !== '' ||
    [...searchParams.keys()].some((name) => secretName.test(name)) ||
    parts.some(
      (part, i) => part !== '' && (isKeyLike(part) || isAfterName(i) || /(key|token|secret)=/i.test(part)),
    )
  );
}

export const secretProblem = {
  message: 'the URL appears to contain a key in its path (/…), query string (?…) or fragment (#…)',
  hint: 'remove the key from the URL; with the provider openai, put it into the environment variable that apiKeyEnv names',
} as const;

function readApiKey({ apiKeyEnv }: OpenAIConfig, env: CommandContext['env']): string | undefined {
  const key = env[apiKeyEnv]?.trim();
  if (key === undefined || key === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UserError({
      message: `the environment variable ${apiKeyEnv} contains spaces or characters that API keys never have`,
      field: 'model.apiKeyEnv',
      value: apiKeyEnv,
      hint: 'set it to the key alone',
    });
  return key;
}

/** Returns values of headers that the client library reads from the environment, one `name: value` per line. */
const headerValues = ({ OPENAI_CUSTOM_HEADERS: text = '' }: CommandContext['env']): readonly string[] =>
  text.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trim());

const isLoopback = ({ hostname }: URL): boolean => /^127\.|^\[::1\]$|(^|\.)localhost$/.test(hostname);
