import type { ClientOptions } from 'openai';
import { hideSecrets, UserError } from '../../errors.js';
import type { Completion } from '../language-model.js';
import type { OpenAIConfig } from '../settings.js';

/** What a web address may say of its user, as in `http://name:password@host`. */
export interface Login {
  /** The header that carries it (RFC 7617). */
  readonly authorization: string;
  /** Every form of it that is never to be seen. */
  readonly secrets: readonly string[];
}

/** An address, and the login that stood in it. */
function withoutLogin(address: URL): { readonly baseUrl: URL; readonly login: Login | undefined } {
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

/** A server, or a proxy before it, may give back what it was sent. Tokens that spell a secret are left out. */
export function withoutSecrets(completion: Completion, secrets: readonly string[]): Completion {
  const { tokens, ...rest } = completion;
  const { text, reasoning } = rest;
  const shown = hideSecrets(text, secrets);
  return {
    ...rest,
    text: shown,
    ...(tokens && shown === text && { tokens }),
    ...(reasoning !== undefined && { reasoning: hideSecrets(reasoning, secrets) }),
  };
}

// Where an OpenAI-compatible server is, and the key for it.

/** The two keys of a config that say which server, and which key. */
type OpenAIAccess = Pick<OpenAIConfig, 'baseUrl' | 'apiKeyEnv'>;

type Environment = Readonly<Record<string, string | undefined>>;

export interface OpenAIServer {
  /** Without a login. */
  readonly baseUrl: URL;
  /** What is sent along and is never to be seen: the key or the login, where there is one, and headers of the user's. */
  readonly secrets: readonly string[];
  /** Of the client library; `fetch` is the caller's. */
  readonly settings: ClientOptions;
}

/** @throws UserError when the key is missing, or the address is none */
export function openaiServer(access: OpenAIAccess, environment: Environment): OpenAIServer {
  const { baseUrl, login } = withoutLogin(readBaseUrl(access, environment));
  const apiKey = readApiKey(access, environment);
  if (apiKey !== undefined && login !== undefined) throw twoKeys(access);
  if (apiKey === undefined && login === undefined && !isLoopback(baseUrl)) throw noKey(access);
  return {
    baseUrl,
    secrets: [
      ...(apiKey === undefined ? [] : [apiKey]),
      ...(login?.secrets ?? []),
      ...customHeaders(environment),
    ],
    settings: {
      baseURL: baseUrl.href,
      apiKey: apiKey ?? 'none',
      ...(login !== undefined && { defaultHeaders: { authorization: login.authorization } }),
      adminAPIKey: null,
      organization: environment.OPENAI_ORG_ID ?? null,
      project: environment.OPENAI_PROJECT_ID ?? null,
      webhookSecret: null,
      logLevel: 'off',
      maxRetries: 0,
      // The deadline is the call's: see retry.ts.
      timeout: 2 ** 31 - 1,
    },
  };
}

function readBaseUrl(access: OpenAIAccess, environment: Environment): URL {
  const given = access.baseUrl ?? (environment.OPENAI_BASE_URL?.trim() || 'https://api.openai.com/v1');
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UserError({
      message: access.baseUrl === undefined ? 'OPENAI_BASE_URL is no web address' : 'this is no web address',
      field: 'model.baseUrl',
      // It may hold a login without being an address.
      ...(!given.includes('@') && { value: given }),
      remedy: 'give it in full, e.g. http://127.0.0.1:8000/v1',
    });
  }
  const url = new URL(given);
  if (url.search === '') return url;
  // The client would append the path to the query.
  throw new UserError({
    message: `${access.baseUrl === undefined ? 'OPENAI_BASE_URL has' : 'this address has'} a query (?…)`,
    field: 'model.baseUrl',
    remedy: `give the address without it; a key belongs in the environment variable that model.apiKeyEnv names`,
  });
}

function readApiKey({ apiKeyEnv }: OpenAIAccess, environment: Environment): string | undefined {
  if (!isVariableName(apiKeyEnv)) throw new UserError({ field: 'model.apiKeyEnv', ...noVariable });
  const key = environment[apiKeyEnv]?.trim();
  if (key === undefined || key === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UserError({
      message: `the environment variable ${apiKeyEnv} holds spaces or characters that no API key has`,
      field: 'model.apiKeyEnv',
      value: apiKeyEnv,
      remedy: 'set it again, with the key alone',
    });
  }
  return key;
}

/** Whether an environment variable can have this name. What has another form may be the key itself. */
export const isVariableName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name);

/** What is wrong with another one: it is not shown. */
export const noVariable = {
  message: 'this is no name of an environment variable',
  remedy: 'put the key into an environment variable, and give the name of that here',
} as const;

function noKey({ apiKeyEnv }: OpenAIAccess): UserError {
  return new UserError({
    message: `the API key is missing: the environment variable ${apiKeyEnv} is not set`,
    field: 'model.apiKeyEnv',
    value: apiKeyEnv,
    remedy: `export ${apiKeyEnv}=… (any value for a server that wants none), or name the variable that holds the key in model.apiKeyEnv`,
  });
}

function twoKeys({ apiKeyEnv, baseUrl }: OpenAIAccess): UserError {
  return new UserError({
    message: `${baseUrl === undefined ? 'OPENAI_BASE_URL' : 'this address'} holds a login, and ${apiKeyEnv} a key, but a request has room for one of them`,
    field: 'model.baseUrl',
    remedy: `unset ${apiKeyEnv} (or name another variable in model.apiKeyEnv), or take the login out of the address`,
  });
}

/** Values of the headers that the client library takes from the environment, one `name: value` a line. */
function customHeaders(environment: Environment): readonly string[] {
  return (environment.OPENAI_CUSTOM_HEADERS ?? '')
    .split('\n')
    .map((line) => line.slice(line.indexOf(':') + 1).trim());
}

function isLoopback({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\./.test(hostname)
  );
}
