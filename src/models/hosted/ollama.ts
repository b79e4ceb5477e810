import { type ChatRequest, Ollama } from 'ollama';
import { z } from 'zod';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import {
  type ChatMessage,
  type Completion,
  chosenSampling,
  type GenerateOptions,
  type LanguageModel,
  lowestLimit,
} from '../language-model.js';
import { checkUsage, mostTokens, replyFaults } from '../reply-faults.js';
import { withoutSecrets } from '../secrets.js';
import type { OllamaConfig } from '../settings.js';
import { answerSchema } from './answer-schema.js';
import { jsonFetch } from './json-fetch.js';
import { loginOf } from './openai-access.js';
import { type Call, callWithRetries, type Outcome, TryFailure, type Wait } from './retry.js';

/** The reply of `show`: it has the context length under `<architecture>.context_length`. */
const modelSchema = z.object({ model_info: z.record(z.string(), z.unknown()) });

const responseSchema = z.object({
  message: z.object({ content: z.string().nullable(), thinking: z.string().nullish() }),
  done_reason: z.string().nullish(),
  /** Unchecked: see checkUsage. */
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
export function createOllama(config: OllamaConfig, env: CommandContext['env'], wait: Wait): LanguageModel {
  const host = readHost(config, env);
  const id = `ollama/${config.name}`;
  const secrets = [env.OLLAMA_API_KEY ?? '', ...(loginOf(host)?.secrets ?? [])];
  const server = { isReached: false };
  /** Only ever grows: see contextStep. */
  let contextTokens = config.contextTokens ?? 0;

  const call = <T>(
    options: Pick<Call<T>, 'seed' | 'signal' | 'mayTryAgain'>,
    ask: (client: Ollama) => Promise<T>,
  ) =>
    callWithRetries({
      ...{ ...options, id, policy: config, wait, secrets, server },
      async attempt(signal) {
        // The client passes on no signal of its own.
        const fetch: typeof jsonFetch = (url, init) => jsonFetch(url, { ...init, signal });
        try {
          return await ask(new Ollama({ host: host.href, fetch }));
        } catch (error) {
          throw withRemedy(error, config, host);
        }
      },
    });

  return {
    id,
    async context() {
      const { value } = await call({ seed: 0 }, (client) => client.show({ model: config.name }));
      const tokens = lowestLimit(ownContext(value), config.contextTokens);
      return tokens === undefined ? undefined : { tokens };
    },
    async generate(messages, options) {
      const { seeds, signal, mayTryAgain } = options;
      const maxTokens = lowestLimit(config.maxTokens, options.maxTokens)!;
      if (config.contextTokens === undefined) {
        const needed = mostTokens(messages) + config.maxTokens;
        contextTokens = Math.max(contextTokens, Math.ceil(needed / contextStep) * contextStep);
      }
      const request = chatRequest({ ...config, maxTokens }, messages, options, contextTokens);
      const outcome = await call({ seed: seeds[0]!, signal, mayTryAgain }, async (client) =>
        readResponse(await client.chat(request)),
      );
      return [withoutSecrets(completion(outcome.value, messages, request, outcome), secrets)];
    },
  };
}

function ownContext(shown: unknown): number | undefined {
  const { data } = modelSchema.safeParse(shown);
  const info = Object.entries(data?.model_info ?? {});
  const length = info.find(([key]) => key.endsWith('.context_length'))?.[1];
  return typeof length === 'number' ? length : undefined;
}

/** JSON leaves out what is undefined. */
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
    format: config.format === 'json' && grammar ? answerSchema(grammar) : undefined,
    think: config.think,
    keep_alive: config.keepAlive,
    options: {
      num_ctx: contextTokens,
      num_predict: config.maxTokens,
      seed: seeds[0]!,
      temperature,
      top_p: topP,
      top_k: topK,
      min_p: minP,
      repeat_penalty: repetitionPenalty,
      stop,
    },
  } as ChatRequest & { stream: false };
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
  const reply = {
    text: message.content ?? '',
    ...(message.thinking && { reasoning: message.thinking }),
    finishReason: done_reason === 'stop' || done_reason === 'length' ? done_reason : 'other',
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

/** Ollama drops the oldest part of a prompt that exceeds the context window, and says nothing. */
const contextRemedy = (contextTokens: number | undefined) =>
  `(context window asked for: ${contextTokens}; the model's own may be smaller). ` +
  `Raise model.contextTokens if it is set, or show less (memory.tokens)`;

function withRemedy(error: unknown, config: OllamaConfig, host: URL): unknown {
  if (!(error instanceof TryFailure)) return error;
  const { kind, message } = error;
  if (kind === 'network') {
    return new TryFailure(kind, `${message}. Start the server with \`ollama serve\`, or set model.host`);
  }
  if (kind !== 'not-found') return error;
  const remedy = /model/i.test(message)
    ? `get the model with \`ollama pull ${config.name}\``
    : `${host.origin} seems to be no Ollama server: check model.host`;
  return new TryFailure(kind, `${message}; ${remedy}`);
}

/** OLLAMA_HOST may lack the scheme or the port, and may be the address the server binds to (0.0.0.0). */
function readHost(config: OllamaConfig, env: CommandContext['env']): URL {
  const given = config.host ?? (env.OLLAMA_HOST?.trim() || 'http://127.0.0.1:11434');
  const complete = given.includes('://') ? given : `http://${given.replace(/^:/, '127.0.0.1:')}`;
  const url = URL.canParse(complete) ? new URL(complete) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError({
      message: config.host === undefined ? 'OLLAMA_HOST is no address' : 'this is no address',
      field: 'model.host',
      // A text that is no address may still hold a login.
      ...(!given.includes('@') && { value: given }),
      remedy: 'give it in full, e.g. http://127.0.0.1:11434',
    });
  }
  if (!given.includes('://') && url.port === '') url.port = '11434';
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  return url;
}
