import OpenAI, { type ClientOptions } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { CommandContext } from '../../base/context.js';
import { redact } from '../../base/errors.js';
import { isObject } from '../../base/modules/user-module.js';
import {
  type ChatMessage,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
  ModelError,
  resolveSampling,
  shortenPromptHint,
} from '../language-model.js';
import { withoutSecrets } from '../secrets.js';
import type { OpenAIConfig } from '../settings.js';
import {
  adaptDialect,
  type Dialect,
  newDialect,
  nextFormat,
  type RequestFields,
  refusedKey,
  responseFormat,
} from './dialect.js';
import { jsonFetch } from './json-fetch.js';
import { openaiClientSettings } from './openai-access.js';
import { completionsOf, readChatCompletion } from './openai-reply.js';
import { AttemptError, callWithRetries, type Wait } from './retry.js';

/** Creates a model on OpenAI or a compatible server. @throws UserError if the key or the URL can't be used */
export function createOpenAI(config: OpenAIConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const { baseUrl, secrets, settings } = openaiClientSettings(config, env);
  const id = `openai/${config.name}`;
  const server = { isReached: false };
  const dialect = newDialect(baseUrl, config);
  /** Promise of the context length that the server reports; requested again after a failure. */
  let contextLength: ReturnType<typeof fetchContextLength> | undefined;

  /** Sends a request; adapts the dialect to a rejection if it can. @throws AttemptError, or another error if aborted */
  const request = async (body: ChatCompletionCreateParamsNonStreaming, signal: AbortSignal) => {
    const sentDialect = { ...dialect };
    const baseURL = `${settings.baseURL}${dialect.prefix}`;
    const client = new OpenAI({ ...settings, baseURL, fetch: jsonFetch });
    try {
      const response = readChatCompletion(await client.chat.completions.create(body, { signal }));
      return { response, format: sentDialect.answerFormat };
    } catch (error) {
      // The SDK wraps errors that its `fetch` throws.
      const failure = error instanceof OpenAI.APIConnectionError ? error.cause : error;
      if (!(failure instanceof AttemptError)) throw error;
      const { kind, message, retryAfter } = failure;
      const fields = { ...body };
      // Try again with `/v1` if nothing was found at a base URL without a version.
      const isNotFound = kind === 'not-found' && !/model/i.test(message) && !/\/v\d/.test(baseURL);
      if (isNotFound) dialect.prefix = '/v1';
      if (isNotFound || adaptDialect(dialect, config, fields, sentDialect, failure))
        throw new AttemptError(kind, message, undefined, true);
      const hint = hintFor(failure, config, baseUrl, dialect.prefix, fields);
      throw hint === undefined ? failure : new AttemptError(kind, `${message}; ${hint}`, retryAfter);
    }
  };

  return {
    id,
    givesSeveral: true,
    async context(signal) {
      contextLength ??= fetchContextLength(settings, config.name, signal).catch((error) => {
        contextLength = undefined;
        if (!(error instanceof AttemptError)) throw error;
        throw new ModelError(error.kind, redact(`${id}: ${error.message}`, secrets), {
          retries: 0,
          latencyMs: 0,
        });
      });
      const tokens = await contextLength;
      return tokens === undefined ? undefined : { tokens };
    },
    async generate(messages, options) {
      const { attempts, grammar, seeds, signal } = options;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens);
      const { value, attemptInfo } = await callWithRetries({
        id,
        retryPolicy: config,
        wait,
        secrets,
        server,
        seed: seeds[0]!,
        signal,
        attempts,
        attempt: (end) => request(requestBody({ ...config, maxTokens }, dialect, messages, options), end),
      });
      const { format: sentFormat, response } = value;
      const [requested, received] = [seeds.length, response.choices.length];
      const warnings = [
        ...(dialect.refusedKeys.has('seed')
          ? ["the server doesn't accept a seed, so its replies can't be reproduced"]
          : []),
        ...(received > requested
          ? [`the server sent ${received} completions instead of ${requested}; the extra ones are ignored`]
          : []),
      ];
      const trimmed = { ...response, choices: response.choices.slice(0, requested) };
      const completions = completionsOf(trimmed, { messages, maxTokens }, { ...attemptInfo, warnings });
      return completions.map((completion) => {
        if (config.format !== 'auto' || grammar === undefined) return withoutSecrets(completion, secrets);
        const format = nextFormat(completion, sentFormat, grammar);
        if (format !== sentFormat) dialect.answerFormat = format;
        return withoutSecrets({ ...completion, format }, secrets);
      });
    },
  };
}

function requestBody(
  config: OpenAIConfig,
  dialect: Dialect,
  messages: readonly ChatMessage[],
  { grammar, sampling, seeds }: GenerateOptions,
): ChatCompletionCreateParamsNonStreaming {
  const { temperature, topP, topK, minP, repetitionPenalty } = resolveSampling(config, sampling);
  const fields = {
    seed: seeds[0]!,
    n: seeds.length > 1 ? seeds.length : undefined,
    temperature,
    top_p: topP,
    // OpenAI doesn't have these three fields, but compatible servers such as vLLM do.
    top_k: topK,
    min_p: minP,
    repetition_penalty: repetitionPenalty,
    [dialect.tokenLimitKey]: config.maxTokens,
    reasoning_effort: config.reasoningEffort,
    response_format: responseFormat(config, dialect, grammar),
  };
  const sentFields = Object.entries(fields).filter(
    ([field, value]) => value !== undefined && !dialect.refusedKeys.has(field),
  );
  return {
    ...config.extra,
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...Object.fromEntries(sentFields),
  } as unknown as ChatCompletionCreateParamsNonStreaming;
}

/** Suggests how to fix a failure, usually by changing a config key; undefined if unknown. */
function hintFor(
  { kind, message }: AttemptError,
  config: OpenAIConfig,
  baseUrl: URL,
  prefix: string,
  fields: RequestFields,
): string | undefined {
  if (kind === 'bad-request') {
    const key = refusedKey(config, fields, message);
    if (key === 'model.format')
      return 'set model.format=auto, which requests a format that the server supports';
    return key && `it is set by ${key}: remove that key, or use a value that this model accepts`;
  }
  if (kind === 'too-long')
    return `${shortenPromptHint}, lower model.maxTokens, or serve the model with a larger context`;
  if (kind === 'authentication') {
    if (/can only afford|fewer max_tokens/.test(message)) return 'lower model.maxTokens, or add credit';
    return /quota|credit|balance|billing/i.test(message)
      ? `add credit to the account of the key in ${config.apiKeyEnv}, then run \`policyloop resume <run>\``
      : `check the key in ${config.apiKeyEnv}`;
  }
  if (kind !== 'not-found') return undefined;
  const base = `${baseUrl.origin}${baseUrl.pathname}`;
  const prefixNote = prefix && ` and ${base.replace(/\/$/, '')}${prefix}`;
  return `check model.name and model.baseUrl (tried: ${base}${prefixNote})`;
}

/** Names that servers use for the context length; llama.cpp's `n_ctx_train` is the length used in training. */
const contextKeys = 'max_model_len context_length context_window max_context_length n_ctx n_ctx_train'.split(
  ' ',
);

const contextLengths = (fields: unknown): readonly number[] =>
  contextKeys
    .map((name) => (isObject(fields) ? fields[name] : undefined))
    .filter((value): value is number => typeof value === 'number' && value > 0);

/** Returns the smallest context length the server reports. @throws a network AttemptError, or the signal's reason */
async function fetchContextLength(
  settings: ClientOptions,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  // The context length is optional, so the wait for it is short.
  const client = new OpenAI({ ...settings, fetch: jsonFetch, timeout: 5000 });
  const versionPath = /\/v\d/.test(client.baseURL) ? '' : '/v1';
  // The client never removes its listener from the signal.
  const ownSignal = signal && AbortSignal.any([signal]);
  const modelList = await client.get(`${versionPath}/models`, { signal: ownSignal }).catch((error) => {
    signal?.throwIfAborted();
    const { cause } = error;
    if (cause instanceof AttemptError && cause.kind === 'network') throw cause;
  });
  signal?.throwIfAborted();
  const models = isObject(modelList) && Array.isArray(modelList.data) ? modelList.data.filter(isObject) : [];
  // A server with a single model usually accepts any name.
  const model = models.find(({ id }) => id === name) ?? (models.length === 1 ? models[0] : undefined);
  return lowestLimit(...[model, model?.top_provider, model?.meta].flatMap(contextLengths));
}
