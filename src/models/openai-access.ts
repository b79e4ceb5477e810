/** Where an OpenAI-compatible server is, and the key for it. */
import type { ClientOptions } from 'openai';
import type { OpenAIConfig } from '../config.js';
import { UserError } from '../errors.js';

/** The two keys of a config that say which server, and which key. */
export type OpenAIAccess = Pick<OpenAIConfig, 'baseUrl' | 'apiKeyEnv'>;

type Environment = Readonly<Record<string, string | undefined>>;

/** How errors call the two: as a run's config does, or as a command's options do. */
export interface AccessFields {
  readonly baseUrl: string;
  readonly apiKeyEnv: string;
}

const configFields: AccessFields = { baseUrl: 'model.baseUrl', apiKeyEnv: 'model.apiKeyEnv' };

export interface OpenAIServer {
  readonly baseUrl: URL;
  /** Never to be printed; undefined for a server on this machine that wants none. */
  readonly apiKey: string | undefined;
  /** Of the client library; `fetch` is the caller's. */
  readonly settings: ClientOptions;
}

/** @throws UserError when the key is missing, or the address is none */
export function openaiServer(
  access: OpenAIAccess,
  environment: Environment,
  fields: AccessFields = configFields,
): OpenAIServer {
  const baseUrl = readBaseUrl(access, environment, fields);
  const apiKey = readApiKey(access, environment, baseUrl, fields);
  return {
    baseUrl,
    apiKey,
    settings: {
      baseURL: baseUrl.href,
      apiKey: apiKey ?? 'none',
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

function readBaseUrl(access: OpenAIAccess, environment: Environment, fields: AccessFields): URL {
  const given = access.baseUrl ?? (environment.OPENAI_BASE_URL?.trim() || 'https://api.openai.com/v1');
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UserError({
      message: access.baseUrl === undefined ? 'OPENAI_BASE_URL is no web address' : 'this is no web address',
      field: fields.baseUrl,
      value: given,
      remedy: 'give it in full, e.g. http://127.0.0.1:8000/v1',
    });
  }
  return new URL(given);
}

function readApiKey(
  { apiKeyEnv }: OpenAIAccess,
  environment: Environment,
  baseUrl: URL,
  fields: AccessFields,
): string | undefined {
  const key = environment[apiKeyEnv]?.trim();
  if (key === undefined || key === '') {
    if (isLoopback(baseUrl)) return undefined;
    throw new UserError({
      message: `the API key is missing: the environment variable ${apiKeyEnv} is not set`,
      field: fields.apiKeyEnv,
      value: apiKeyEnv,
      remedy: `export ${apiKeyEnv}=… (any value for a server that wants none), or name the variable that holds the key in ${fields.apiKeyEnv}`,
    });
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UserError({
      message: `the environment variable ${apiKeyEnv} holds spaces or characters that no API key has`,
      field: fields.apiKeyEnv,
      value: apiKeyEnv,
      remedy: 'set it again, with the key alone',
    });
  }
  return key;
}

function isLoopback({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\./.test(hostname)
  );
}
