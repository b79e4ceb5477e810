import type { ChatMessage } from '../../src/models/language-model.js';
import {
  type Answer,
  countTokens,
  type FakeServer,
  type FaultPlan,
  type ReceivedRequest,
  startFakeServer,
} from './fake-server.js';

export interface OpenAIRequest {
  readonly messages: readonly ChatMessage[];
  readonly model: string;
  readonly seed?: number;
  /** Which of the `n` completions of the request this is, from 0. */
  readonly choice: number;
  readonly received: ReceivedRequest;
}

/** A text, or a text with what goes with it. */
export type OpenAIReply =
  | string
  | {
      readonly text: string | null;
      readonly finishReason?: string;
      /** More fields of the message, e.g. `reasoning_content`. */
      readonly message?: Readonly<Record<string, unknown>>;
      /** One token each, as `logprobs.content` of the choice. */
      readonly logprobs?: readonly Readonly<Record<string, unknown>>[];
      /** Counted as reasoning tokens, one each. */
      readonly reasoningTokens?: number;
    };

/** An OpenAI-compatible server: `POST /v1/chat/completions`. Its `url` ends in `/v1`. */
export async function startFakeOpenAI(options: {
  /** Called for every request, also for one that then goes wrong. */
  readonly reply: (request: OpenAIRequest) => OpenAIReply;
  readonly faults?: FaultPlan;
  /** Refuses every other key with 401. */
  readonly apiKey?: string;
  /** Refuses every other model with 404. */
  readonly models?: readonly string[];
  /** The most completions a request gets, whatever its `n`. */
  readonly maxChoices?: number;
  /** Fields that are refused with 400. */
  readonly refuses?: readonly string[];
  /** What the refusal adds. */
  readonly hint?: string;
  /** What it says of itself, by path, e.g. `/v1/models`. */
  readonly facts?: Readonly<Record<string, unknown>>;
}): Promise<FakeServer> {
  const server = await startFakeServer({
    faults: options.faults,
    facts: options.facts,
    empty: { id: 'chatcmpl-0', object: 'chat.completion', choices: [] },
    answer: (received) => answer(received, options),
  });
  return { ...server, url: `${server.url}/v1` };
}

function answer(received: ReceivedRequest, options: Parameters<typeof startFakeOpenAI>[0]): Answer {
  const body = received.body as {
    model: string;
    messages: readonly (Omit<ChatMessage, 'content'> & { content: string | readonly { text?: string }[] })[];
    seed?: number;
    n?: number;
  };
  // Pictures stand in `received.body`.
  const messages = body.messages.map(
    ({ content, role }): ChatMessage => ({
      role,
      content: typeof content === 'string' ? content : content.map(({ text = '' }) => text).join(''),
    }),
  );
  const refuse = (status: number, message: string, code?: string): Answer => ({
    status,
    body: { error: { message, type: 'invalid_request_error', code } },
  });
  if (received.path !== '/v1/chat/completions') return refuse(404, `no such path: ${received.path}`);
  const authorization = received.headers.authorization;
  if (options.apiKey !== undefined && authorization !== `Bearer ${options.apiKey}`) {
    return refuse(401, `Incorrect API key provided: ${authorization?.slice(7)}`, 'invalid_api_key');
  }
  if (options.models !== undefined && !options.models.includes(body.model)) {
    return refuse(404, `The model \`${body.model}\` does not exist`, 'model_not_found');
  }
  const refused = options.refuses?.find((field) => field in received.body);
  if (refused !== undefined)
    return refuse(400, `Unsupported parameter: '${refused}' ${options.hint ?? ''}`, 'unsupported_parameter');

  const count = Math.min(body.n ?? 1, options.maxChoices ?? Number.POSITIVE_INFINITY);
  const replies = Array.from({ length: count }, (_, choice) => {
    const reply = options.reply({
      messages,
      model: body.model,
      ...(body.seed !== undefined && { seed: body.seed }),
      choice,
      received,
    });
    return typeof reply === 'string' ? { text: reply } : reply;
  });
  const promptTokens = messages.reduce((total, { content }) => total + countTokens(content) + 4, 0);
  const cachedTokens = Math.floor(promptTokens / 2);
  const reasoningTokens = replies.reduce((total, reply) => total + (reply.reasoningTokens ?? 0), 0);
  const completionTokens =
    reasoningTokens + replies.reduce((total, { text }) => total + countTokens(text ?? ''), 0);
  return {
    status: 200,
    counted: { completions: count, promptTokens, cachedTokens, completionTokens, reasoningTokens },
    body: {
      id: 'chatcmpl-0',
      object: 'chat.completion',
      created: 0,
      model: body.model,
      choices: replies.map((reply, index) => ({
        index,
        message: { role: 'assistant', content: reply.text, ...reply.message },
        finish_reason: reply.finishReason ?? 'stop',
        ...(reply.logprobs && { logprobs: { content: reply.logprobs } }),
      })),
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        total_tokens: promptTokens + completionTokens,
        prompt_tokens_details: { cached_tokens: cachedTokens },
        completion_tokens_details: { reasoning_tokens: reasoningTokens },
      },
    },
  };
}
