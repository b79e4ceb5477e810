import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { z } from 'zod';
import type { OpenAIConfig } from '../config.js';
import { UserError } from '../errors.js';
import { answerSchema } from './answer-schema.js';
import { jsonFetch, serverError } from './json-fetch.js';
import type { ChatMessage, Completion, FinishReason, LanguageModel, Task, Usage } from './language-model.js';
import { callWithRetries, TryFailure, type Wait } from './retry.js';

/** Part of a message's content where a server splits it (Mistral's reasoning models do). */
const contentPart = z.object({
  type: z.string(),
  text: z.string().optional(),
  thinking: z.array(z.object({ text: z.string().optional() })).optional(),
});

const messageSchema = z.object({
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  refusal: z.string().nullish(),
  /** Reasoning beside the answer: DeepSeek, vLLM, llama.cpp (`reasoning_content`), OpenRouter, Ollama (`reasoning`). */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
});

const tokens = z.int().min(0).optional().catch(undefined);
const usageSchema = z
  .object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: z.object({ cached_tokens: tokens }).nullish().catch(undefined),
    completion_tokens_details: z.object({ reasoning_tokens: tokens }).nullish().catch(undefined),
    /** DeepSeek's name for the cached tokens. */
    prompt_cache_hit_tokens: tokens,
  })
  .nullish()
  .catch(undefined);

const responseSchema = z.object({
  choices: z.array(z.object({ message: messageSchema, finish_reason: z.string().nullish() })).min(1),
  usage: usageSchema,
});
type Response = z.output<typeof responseSchema>;
type Choice = Response['choices'][number];

/** What is asked of a server unless it turns out not to take it. */
interface Dialect {
  seed: boolean;
  /** Several completions of one prompt (`n`). */
  choices: boolean;
}

const seedWarning = 'the server takes no seed: its replies can’t be reproduced';

/**
 * Chat completions of OpenAI and of every server that is compatible with it.
 * @throws UserError when the key is missing, or the address is none.
 */
export function createOpenAI(
  config: OpenAIConfig,
  environment: Readonly<Record<string, string | undefined>>,
  wait: Wait,
): LanguageModel {
  const baseUrl = readBaseUrl(config, environment);
  const apiKey = readApiKey(config, environment, baseUrl);
  const client = new OpenAI({
    baseURL: baseUrl.href,
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    organization: environment.OPENAI_ORG_ID ?? null,
    project: environment.OPENAI_PROJECT_ID ?? null,
    webhookSecret: null,
    logLevel: 'off',
    fetch: jsonFetch,
    maxRetries: 0,
    // The deadline is the call's: see retry.ts.
    timeout: 2 ** 31 - 1,
  });
  const id = `openai/${config.name}`;
  const dialect: Dialect = { seed: true, choices: true };

  const call = async (
    messages: readonly ChatMessage[],
    task: Task,
    seeds: readonly number[],
    signal?: AbortSignal,
  ) => {
    let adapted = 0;
    const outcome = await callWithRetries({
      id,
      policy: config,
      wait,
      secrets: apiKey === undefined ? [] : [apiKey],
      seed: seeds[0]!,
      signal,
      attempt: async (attemptSignal) => {
        for (; ; adapted++) {
          const body = requestBody(config, baseUrl, dialect, messages, task, seeds);
          try {
            return readResponse(await client.chat.completions.create(body, { signal: attemptSignal }));
          } catch (error) {
            const failure = causeOf(error);
            if (!adapt(dialect, body, failure)) throw withHint(failure, config, baseUrl);
          }
        }
      },
    });
    return completions(outcome.value, outcome.retries + adapted, outcome.latencyMs, dialect);
  };

  return {
    id,
    generate: async (messages, { task, seed, signal }) => (await call(messages, task, [seed], signal))[0]!,
    generateGroup: (messages, { task, seeds, signal }) => call(messages, task, seeds, signal),
  };
}

function requestBody(
  config: OpenAIConfig,
  baseUrl: URL,
  dialect: Dialect,
  messages: readonly ChatMessage[],
  task: Task,
  seeds: readonly number[],
): ChatCompletionCreateParamsNonStreaming {
  return {
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...(dialect.seed && { seed: seeds[0]! }),
    ...(dialect.choices && seeds.length > 1 && { n: seeds.length }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.topP !== undefined && { top_p: config.topP }),
    ...(config.maxTokens !== undefined && { [tokenLimitField(baseUrl)]: config.maxTokens }),
    ...(config.reasoningEffort !== undefined && { reasoning_effort: config.reasoningEffort }),
    ...(config.format === 'json' && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'parameters', strict: true, schema: answerSchema(task.parameters) },
      },
    }),
  };
}

/**
 * OpenAI's reasoning models refuse `max_tokens`; its other models take both. Compatible servers know `max_tokens`, and
 * some of them ignore the newer name, which would leave the completion unbounded.
 */
function tokenLimitField(baseUrl: URL): 'max_tokens' | 'max_completion_tokens' {
  const { hostname } = baseUrl;
  const isOpenAI =
    hostname === 'openai.com' || hostname.endsWith('.openai.com') || hostname.endsWith('.openai.azure.com');
  return isOpenAI ? 'max_completion_tokens' : 'max_tokens';
}

/** Gives up what the server refused, where we asked for it on our own account. False when there was nothing to give up. */
function adapt(dialect: Dialect, sent: ChatCompletionCreateParamsNonStreaming, failure: unknown): boolean {
  if (!(failure instanceof TryFailure) || failure.kind !== 'bad-request') return false;
  if (sent.seed !== undefined && /\bseed\b/i.test(failure.message)) {
    dialect.seed = false;
    return true;
  }
  if (sent.n !== undefined) {
    dialect.choices = false;
    return true;
  }
  return false;
}

/** The SDK wraps what its `fetch` threw. */
function causeOf(error: unknown): unknown {
  return error instanceof OpenAI.APIConnectionError && error.cause instanceof TryFailure
    ? error.cause
    : error;
}

function withHint(failure: unknown, config: OpenAIConfig, baseUrl: URL): unknown {
  if (!(failure instanceof TryFailure)) return failure;
  if (failure.kind === 'authentication') {
    return new TryFailure(failure.kind, `${failure.message}; the key was that of ${config.apiKeyEnv}`);
  }
  if (failure.kind === 'not-found') {
    const address = `${baseUrl.origin}${baseUrl.pathname}`;
    return new TryFailure(
      failure.kind,
      `${failure.message}; check model.name, and model.baseUrl (${address})`,
    );
  }
  return failure;
}

function readResponse(response: unknown): Response {
  const parsed = responseSchema.safeParse(response);
  if (parsed.success) return parsed.data;
  const { message } = serverError(JSON.stringify(response));
  const issue = parsed.error.issues[0]!;
  throw new TryFailure(
    'malformed',
    `the reply is no chat completion (${issue.path.join('.') || 'body'}: ${issue.message})${message === '' ? '' : `: ${message}`}`,
  );
}

function completions(
  response: Response,
  retries: number,
  latencyMs: number,
  dialect: Dialect,
): readonly Completion[] {
  return response.choices.map((choice, i) => ({
    ...readChoice(choice),
    ...(i === 0
      ? {
          usage: readUsage(response.usage),
          latencyMs,
          retries,
          ...(!dialect.seed && { warnings: [seedWarning] }),
        }
      : { usage: {}, latencyMs: 0, retries: 0 }),
  }));
}

function readChoice({
  message,
  finish_reason,
}: Choice): Pick<Completion, 'text' | 'reasoning' | 'finishReason'> {
  const parts = typeof message.content === 'string' ? [] : (message.content ?? []);
  const thinking = parts.flatMap((part) => part.thinking ?? []).map((part) => part.text ?? '');
  const text =
    typeof message.content === 'string' ? message.content : parts.map((part) => part.text ?? '').join('');
  const reasoning = message.reasoning_content ?? message.reasoning ?? thinking.join('');
  return {
    text: text === '' ? (message.refusal ?? '') : text,
    ...(reasoning !== '' && { reasoning }),
    finishReason: finishReasons[finish_reason ?? ''] ?? 'other',
  };
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
};

function readUsage(usage: Response['usage']): Usage {
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? usage?.prompt_cache_hit_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    ...(usage?.prompt_tokens !== undefined && { promptTokens: usage.prompt_tokens }),
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(usage?.completion_tokens !== undefined && { completionTokens: usage.completion_tokens }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}

function readBaseUrl(config: OpenAIConfig, environment: Readonly<Record<string, string | undefined>>): URL {
  const given = config.baseUrl ?? (environment.OPENAI_BASE_URL?.trim() || 'https://api.openai.com/v1');
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UserError({
      message: config.baseUrl === undefined ? 'OPENAI_BASE_URL is no web address' : 'this is no web address',
      field: 'model.baseUrl',
      value: given,
      remedy: 'give it in full, e.g. http://127.0.0.1:8000/v1',
    });
  }
  return new URL(given);
}

function readApiKey(
  config: OpenAIConfig,
  environment: Readonly<Record<string, string | undefined>>,
  baseUrl: URL,
): string | undefined {
  const key = environment[config.apiKeyEnv]?.trim();
  if (key === undefined || key === '') {
    if (isLoopback(baseUrl)) return undefined;
    throw new UserError({
      message: `the API key is missing: the environment variable ${config.apiKeyEnv} is not set`,
      field: 'model.apiKeyEnv',
      value: config.apiKeyEnv,
      remedy: `export ${config.apiKeyEnv}=… (any value for a server that wants none), or name the variable that holds the key in model.apiKeyEnv`,
    });
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UserError({
      message: `the environment variable ${config.apiKeyEnv} holds spaces or characters that no API key has`,
      field: 'model.apiKeyEnv',
      value: config.apiKeyEnv,
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
