import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import {
  type ChatMessage,
  chosenSampling,
  type GenerateOptions,
  type LanguageModel,
  type ModelErrorKind,
  smallest,
} from '../language-model.js';
import type { OpenAIConfig } from '../settings.js';
import { answerSchema } from './answer-schema.js';
import { jsonFetch } from './json-fetch.js';
import { openaiServer, withoutSecrets } from './openai-access.js';
import { completionsOf, readChatCompletion } from './openai-reply.js';
import { callWithRetries, TryFailure, type Wait } from './retry.js';

/** How a server is asked, as far as it has turned out yet. */
interface Dialect {
  /** Whether it takes a seed. */
  seed: boolean;
  /** Whether it gives several completions of one prompt (`n`). */
  choices: boolean;
  /** What it calls the longest completion. */
  tokenLimit: 'max_tokens' | 'max_completion_tokens';
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
  const { baseUrl, secrets, settings } = openaiServer(config, environment);
  const client = new OpenAI({ ...settings, fetch: jsonFetch });
  const id = `openai/${config.name}`;
  const dialect: Dialect = { seed: true, choices: true, tokenLimit: tokenLimitFor(baseUrl) };

  return {
    id,
    givesSeveral: true,
    async generate(messages, options) {
      const { seeds, signal, mayTryAgain } = options;
      const maxTokens = smallest(config.maxTokens, options.maxTokens);
      let adapted = 0;
      const outcome = await callWithRetries({
        id,
        policy: config,
        wait,
        secrets,
        seed: seeds[0]!,
        signal,
        mayTryAgain,
        attempt: async (attemptSignal) => {
          for (; ; adapted++) {
            const body = requestBody({ ...config, maxTokens }, dialect, messages, options);
            try {
              return readChatCompletion(
                await client.chat.completions.create(body, { signal: attemptSignal }),
              );
            } catch (error) {
              const failure = causeOf(error);
              if (!adapt(dialect, body, failure)) throw withHint(failure, config, baseUrl);
            }
          }
        },
      });
      const failedTries = [...outcome.failedTries, ...new Array<ModelErrorKind>(adapted).fill('bad-request')];
      const sent = { messages, maxTokens };
      const completions = completionsOf(outcome.value, sent, {
        latencyMs: outcome.latencyMs,
        retries: failedTries.length,
        ...(failedTries.length > 0 && { failedTries }),
        ...(!dialect.seed && { warnings: [seedWarning] }),
      });
      return completions.map((completion) => withoutSecrets(completion, secrets));
    },
  };
}

function requestBody(
  config: OpenAIConfig,
  dialect: Dialect,
  messages: readonly ChatMessage[],
  { grammar, logProbabilities, sampling, seeds, stop }: GenerateOptions,
): ChatCompletionCreateParamsNonStreaming {
  const { temperature, topP, topK, minP, repetitionPenalty } = chosenSampling(config, sampling);
  return {
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    ...(dialect.seed && { seed: seeds[0]! }),
    ...(dialect.choices && seeds.length > 1 && { n: seeds.length }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    // Not OpenAI's; compatible servers such as vLLM call them so.
    ...(topK !== undefined && { top_k: topK }),
    ...(minP !== undefined && { min_p: minP }),
    ...(repetitionPenalty !== undefined && { repetition_penalty: repetitionPenalty }),
    ...(stop && { stop: [...stop] }),
    ...(logProbabilities && { logprobs: true }),
    ...(config.maxTokens !== undefined && { [dialect.tokenLimit]: config.maxTokens }),
    ...(config.reasoningEffort !== undefined && { reasoning_effort: config.reasoningEffort }),
    ...(config.format === 'json' &&
      grammar && {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'answer', strict: true, schema: answerSchema(grammar) },
        },
      }),
  };
}

/**
 * OpenAI's reasoning models refuse `max_tokens`; its other models take both. Compatible servers know `max_tokens`, and
 * some of them ignore the newer name, which would leave the completion unbounded.
 */
function tokenLimitFor(baseUrl: URL): Dialect['tokenLimit'] {
  const { hostname } = baseUrl;
  const isOpenAI =
    hostname === 'openai.com' || hostname.endsWith('.openai.com') || hostname.endsWith('.openai.azure.com');
  return isOpenAI ? 'max_completion_tokens' : 'max_tokens';
}

/** Learns from a refusal of what we asked for on our own account; false when there was nothing of that kind. */
function adapt(dialect: Dialect, sent: ChatCompletionCreateParamsNonStreaming, failure: unknown): boolean {
  if (!(failure instanceof TryFailure) || failure.kind !== 'bad-request') return false;
  if ('seed' in sent && /\bseed\b/i.test(failure.message)) {
    dialect.seed = false;
  } else if ('max_tokens' in sent && failure.message.includes('max_completion_tokens')) {
    dialect.tokenLimit = 'max_completion_tokens';
  } else if ('n' in sent) {
    dialect.choices = false;
  } else {
    return false;
  }
  return true;
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
