import { type ChatRequest, Ollama } from 'ollama';
import { z } from 'zod';
import { UserError } from '../../errors.js';
import {
  type ChatMessage,
  type Completion,
  chosenSampling,
  type FinishReason,
  type GenerateOptions,
  type LanguageModel,
  smallest,
} from '../language-model.js';
import { checkUsage, mostTokens, replyFaults } from '../reply-faults.js';
import type { OllamaConfig } from '../settings.js';
import { answerSchema } from './answer-schema.js';
import { jsonFetch } from './json-fetch.js';
import { loginOf, withoutSecrets } from './openai-access.js';
import { callWithRetries, type Outcome, TryFailure, type Wait } from './retry.js';

/** Of what `show` tells: the length under `<architecture>.context_length`. */
const modelSchema = z.object({ model_info: z.record(z.string(), z.unknown()) });

const responseSchema = z.object({
  message: z.object({ content: z.string().nullable(), thinking: z.string().nullish() }),
  done_reason: z.string().nullish(),
  /** Whatever stands there: see checkUsage. */
  prompt_eval_count: z.unknown().optional(),
  eval_count: z.unknown().optional(),
});
type Response = z.output<typeof responseSchema>;

/** The server reloads the model when the context window changes, so it grows in steps of this many tokens. */
const contextStep = 2048;

/**
 * A model of an Ollama server.
 * @throws UserError when the host is no address.
 */
export function createOllama(
  config: OllamaConfig,
  environment: Readonly<Record<string, string | undefined>>,
  wait: Wait,
): LanguageModel {
  const host = readHost(config, environment);
  const id = `ollama/${config.name}`;
  /** Only ever grows: see contextStep. */
  let contextTokens = config.contextTokens ?? 0;

  const clientWith = (signal: AbortSignal) =>
    new Ollama({
      host: host.href,
      // The client passes on no signal of its own.
      fetch: (url, init) => jsonFetch(url, { ...init, signal }),
    });
  const secrets = [environment.OLLAMA_API_KEY ?? '', ...(loginOf(host)?.secrets ?? [])];
  const calling = {
    id,
    policy: config,
    wait,
    secrets,
  };

  return {
    id,
    async context() {
      const { value } = await callWithRetries({
        ...calling,
        seed: 0,
        signal: undefined,
        attempt: async (signal) => {
          try {
            return modelSchema.safeParse(await clientWith(signal).show({ model: config.name })).data;
          } catch (error) {
            throw withRemedy(error, config, host);
          }
        },
      });
      const [, own] =
        Object.entries(value?.model_info ?? {}).find(([key]) => key.endsWith('.context_length')) ?? [];
      const known = [own, config.contextTokens].filter((length) => typeof length === 'number');
      return known.length === 0 ? undefined : { tokens: Math.min(...known) };
    },
    async generate(messages, options) {
      const { seeds, signal, mayTryAgain } = options;
      const maxTokens = smallest(config.maxTokens, options.maxTokens)!;
      if (config.contextTokens === undefined) {
        const needed = mostTokens(messages) + config.maxTokens;
        contextTokens = Math.max(contextTokens, Math.ceil(needed / contextStep) * contextStep);
      }
      const request = chatRequest({ ...config, maxTokens }, messages, options, contextTokens);
      const outcome = await callWithRetries({
        ...calling,
        seed: seeds[0]!,
        signal,
        mayTryAgain,
        attempt: async (attemptSignal) => {
          try {
            return readResponse(await clientWith(attemptSignal).chat(request));
          } catch (error) {
            throw withRemedy(error, config, host);
          }
        },
      });
      return [withoutSecrets(completion(outcome.value, messages, request, outcome), secrets)];
    },
  };
}

function chatRequest(
  config: OllamaConfig,
  messages: readonly ChatMessage[],
  { grammar, sampling, seeds, stop }: GenerateOptions,
  contextTokens: number,
): ChatRequest & { stream: false } {
  const { temperature, topP, topK, minP, repetitionPenalty } = chosenSampling(config, sampling);
  return {
    model: config.name,
    messages: messages.map(({ role, content }) => ({ role, content })),
    stream: false,
    ...(config.format === 'json' && grammar && { format: answerSchema(grammar) }),
    ...(config.think !== undefined && { think: config.think }),
    ...(config.keepAlive !== undefined && { keep_alive: config.keepAlive }),
    options: {
      num_ctx: contextTokens,
      num_predict: config.maxTokens,
      seed: seeds[0]!,
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { top_p: topP }),
      ...(topK !== undefined && { top_k: topK }),
      ...(minP !== undefined && { min_p: minP }),
      ...(repetitionPenalty !== undefined && { repeat_penalty: repetitionPenalty }),
      ...(stop && { stop: [...stop] }),
    },
  };
}

function readResponse(response: unknown): Response {
  const parsed = responseSchema.safeParse(response);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new TryFailure(
    typeof response === 'object' && response !== null && !('message' in response) ? 'empty' : 'malformed',
    `the reply is no chat reply (${issue.path.join('.') || 'body'}: ${issue.message})`,
  );
}

function completion(
  response: Response,
  messages: readonly ChatMessage[],
  request: ChatRequest,
  { retries, failedTries, latencyMs }: Outcome<unknown>,
): Completion {
  const { message, done_reason, prompt_eval_count, eval_count } = response;
  const { thinking } = message;
  const reply = {
    text: message.content ?? '',
    ...(thinking !== undefined && thinking !== null && thinking !== '' && { reasoning: thinking }),
    finishReason: finishReasons[done_reason ?? ''] ?? 'other',
  } as const;
  const counts = checkUsage(
    { prompt: prompt_eval_count, completion: eval_count },
    { messages, maxTokens: request.options?.num_predict, replies: [reply] },
  );
  const faults = [...replyFaults(reply), ...counts.faults];
  return {
    ...reply,
    usage: counts.usage,
    latencyMs,
    retries,
    ...(failedTries.length > 0 && { failedTries }),
    ...(faults.length > 0 && { faults }),
    ...(counts.warning !== undefined && {
      warnings: [`${counts.warning} ${contextRemedy(request.options?.num_ctx)}`],
    }),
  };
}

const finishReasons: Readonly<Record<string, FinishReason>> = { stop: 'stop', length: 'length' };

/** Ollama drops the oldest part of a prompt that exceeds the context window, and says nothing. */
const contextRemedy = (contextTokens: number | undefined) =>
  `(context window asked for: ${contextTokens}; the model's own may be smaller). ` +
  `Raise model.contextTokens if it is set, or show less (memory.tokens)`;

function withRemedy(error: unknown, config: OllamaConfig, host: URL): unknown {
  if (!(error instanceof TryFailure)) return error;
  if (error.kind === 'network') {
    return new TryFailure(
      'network',
      `${error.message}. Start the server with \`ollama serve\`, or set model.host`,
    );
  }
  if (error.kind !== 'not-found') return error;
  const remedy = /model/i.test(error.message)
    ? `get the model with \`ollama pull ${config.name}\``
    : `${host.origin} seems to be no Ollama server: check model.host`;
  return new TryFailure('not-found', `${error.message}; ${remedy}`);
}

/** OLLAMA_HOST may lack the scheme or the port, and may be the address the server binds to (0.0.0.0). */
function readHost(config: OllamaConfig, environment: Readonly<Record<string, string | undefined>>): URL {
  const given = config.host ?? (environment.OLLAMA_HOST?.trim() || 'http://127.0.0.1:11434');
  const complete = given.includes('://') ? given : `http://${given.replace(/^:/, '127.0.0.1:')}`;
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError({
      message: config.host === undefined ? 'OLLAMA_HOST is no address' : 'this is no address',
      field: 'model.host',
      // It may hold a login without being an address.
      ...(!given.includes('@') && { value: given }),
      remedy: 'give it in full, e.g. http://127.0.0.1:11434',
    });
  }
  if (!given.includes('://') && url.port === '') url.port = '11434';
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  return url;
}
