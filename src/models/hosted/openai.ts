import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { CommandContext } from '../../base/context.js';
import {
  type ChatMessage,
  chosenSampling,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
  type ModelErrorKind,
} from '../language-model.js';
import { withoutSecrets } from '../secrets.js';
import type { OpenAIConfig } from '../settings.js';
import { answerSchema } from './answer-schema.js';
import { createRate } from './create-rate.js';
import { jsonFetch } from './json-fetch.js';
import { openaiServer } from './openai-access.js';
import { completionsOf, readChatCompletion } from './openai-reply.js';
import { callWithRetries, TryFailure, type Wait } from './retry.js';

/** Which parameters a server takes, as far as it is known yet. */
interface Dialect {
  /** Whether it takes a seed. */
  seed: boolean;
  /** Whether it gives several completions of one prompt (`n`). */
  choices: boolean;
  /** Its name for the longest completion. */
  tokenLimit: 'max_tokens' | 'max_completion_tokens';
}

const seedWarning = 'the server takes no seed: its replies can’t be reproduced';

/**
 * Chat completions of OpenAI and of every server that is compatible with it.
 * @throws UserError when the key is missing, or the address is none.
 */
export function createOpenAI(config: OpenAIConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const { baseUrl, secrets, settings } = openaiServer(config, env);
  const client = new OpenAI({ ...settings, fetch: jsonFetch });
  const id = `openai/${config.name}`;
  const server = { isReached: false };
  const rate = createRate(config.requestsPerMinute, [baseUrl.href, config.apiKeyEnv, config.name]);
  const dialect: Dialect = { seed: true, choices: true, tokenLimit: tokenLimitFor(baseUrl) };

  return {
    id,
    givesSeveral: true,
    rate,
    close: async () => rate?.close(),
    seesImages: true,
    async generate(messages, options) {
      const { images = [], seeds, signal, mayTryAgain } = options;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens);
      let adapted = 0;
      const outcome = await callWithRetries({
        id,
        policy: config,
        wait,
        secrets,
        server,
        seed: seeds[0]!,
        signal,
        mayTryAgain,
        rate,
        turns: options,
        attempt: async (attemptSignal, turn) => {
          for (; ; adapted++) {
            const body = requestBody({ ...config, maxTokens }, dialect, messages, options);
            try {
              return readChatCompletion(
                await client.chat.completions.create(body, { signal: attemptSignal }),
              );
            } catch (error) {
              const failure = causeOf(error);
              if (!adapt(dialect, body, failure)) throw withHint(failure, config, baseUrl, images.length > 0);
              await turn();
            }
          }
        },
      });
      const failedTries = [...outcome.failedTries, ...new Array<ModelErrorKind>(adapted).fill('bad-request')];
      const sent = { messages, images: images.length, maxTokens };
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

/** JSON leaves out what is undefined. */
function requestBody(
  config: OpenAIConfig,
  dialect: Dialect,
  messages: readonly ChatMessage[],
  { grammar, images = [], logProbabilities, sampling, seeds, stop }: GenerateOptions,
): ChatCompletionCreateParamsNonStreaming {
  const { temperature, topP, topK, minP, repetitionPenalty } = chosenSampling(config, sampling);
  const schema = config.format === 'json' && grammar ? answerSchema(grammar) : undefined;
  return {
    ...config.extra,
    model: config.name,
    messages: messages.map(({ role, content }, i) => ({
      role,
      content: i === messages.length - 1 && images.length > 0 ? withImages(content, images) : content,
    })),
    seed: dialect.seed ? seeds[0]! : undefined,
    n: dialect.choices && seeds.length > 1 ? seeds.length : undefined,
    temperature,
    top_p: topP,
    // These three are not OpenAI's; compatible servers such as vLLM name them so. A call's choice goes before `extra`.
    ...(topK !== undefined && { top_k: topK }),
    ...(minP !== undefined && { min_p: minP }),
    ...(repetitionPenalty !== undefined && { repetition_penalty: repetitionPenalty }),
    stop: stop && [...stop],
    logprobs: logProbabilities || undefined,
    [dialect.tokenLimit]: config.maxTokens,
    reasoning_effort: config.reasoningEffort,
    response_format: schema && { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  } as ChatCompletionCreateParamsNonStreaming;
}

/** The parts of a message that is about pictures. */
const withImages = (text: string, images: readonly Uint8Array[]) => [
  { type: 'text', text },
  ...images.map((image) => ({
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${Buffer.from(image).toString('base64')}` },
  })),
];

/**
 * OpenAI's reasoning models refuse `max_tokens`; its other models take both. Compatible servers know `max_tokens`, and
 * some of them ignore the newer name, which would leave the completion unbounded.
 */
function tokenLimitFor(baseUrl: URL): Dialect['tokenLimit'] {
  const { hostname } = baseUrl;
  return /(^|\.)openai\.com$|\.openai\.azure\.com$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/** Learns from the refusal of a parameter that we chose to send; false when there was none. */
function adapt(dialect: Dialect, sent: ChatCompletionCreateParamsNonStreaming, failure: unknown): boolean {
  if (!(failure instanceof TryFailure) || failure.kind !== 'bad-request') return false;
  if (sent.seed !== undefined && /\bseed\b/i.test(failure.message)) {
    dialect.seed = false;
  } else if (sent.max_tokens !== undefined && failure.message.includes('max_completion_tokens')) {
    dialect.tokenLimit = 'max_completion_tokens';
  } else if (sent.n !== undefined) {
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

function withHint(
  failure: unknown,
  { apiKeyEnv, extra = {} }: OpenAIConfig,
  { origin, pathname }: URL,
  hasImages: boolean,
): unknown {
  if (!(failure instanceof TryFailure)) return failure;
  const { kind, message } = failure;
  const refused = Object.keys(extra).find((field) => message.includes(field));
  if (kind === 'bad-request' && refused !== undefined)
    return new TryFailure(kind, `${message}; model.extra sends ${refused}`);
  if (kind === 'bad-request' && hasImages)
    return new TryFailure(kind, `${message}; pictures were sent: is it a model that reads them?`);
  if (kind === 'authentication') return new TryFailure(kind, `${message}; the key was that of ${apiKeyEnv}`);
  if (kind !== 'not-found') return failure;
  return new TryFailure(kind, `${message}; check model.name, and model.baseUrl (${origin}${pathname})`);
}
